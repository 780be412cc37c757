"""Two matrix products on ranks, columns first, then rows: partial results join in one sum forward, and one back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course.figures.contrast import ink_on
from course.figures.drawing import box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

Matrix = Sequence[Sequence[int]]

X, A = ((1, 2), (2, 1)), ((1, 0, 2, -1), (0, 1, -1, 1))
B = ((1, 0), (2, 1), (0, 1), (1, 2))
BACK = ((1, 0), (0, -1))  # the gradient of the loss by Y
RANKS = len(B)
CELL, UPPER, LOWER = 32, 46, 224  # side of a number, tops of the two rows of matrices
WIDTH, HEIGHT = 740, 300
AT = {"X": 12, "A": 126, "hidden": 322, "B": 518, "gradient of Y": 650}
PARTS, APART, SUM = 60, 140, 650  # left end of the first part, from part to part, and of the sum


def product(one: Matrix, other: Matrix) -> Matrix:
    """The product of two matrices."""
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*other, strict=True)] for row in one
    ]


def transposed(one: Matrix) -> Matrix:
    """Columns as rows."""
    return [*zip(*one, strict=True)]


def computed() -> dict[str, Matrix | list[Matrix]]:
    """All that the film shows; "parts" and "parts of X": by rank."""
    before = product(X, A)
    hidden = [[max(0, each) for each in row] for row in before]
    open_units = [[each > 0 for each in row] for row in before]
    full = product(BACK, transposed(B))
    back = [[a * b for a, b in zip(*rows, strict=True)] for rows in zip(full, open_units, strict=True)]
    parts = [product([[row[rank]] for row in hidden], [B[rank]]) for rank in range(RANKS)]
    parts_of_x = [product([[row[rank]] for row in back], [[row[rank] for row in A]]) for rank in range(RANKS)]
    sums = {"Y": product(hidden, B), "gradient of X": product(back, transposed(A))}
    return {"hidden": hidden, "gradient of hidden": back, "parts": parts, "parts of X": parts_of_x, **sums}


def product_film() -> Film:
    """The film."""
    have = computed()
    forward, back = have["parts"], have["parts of X"]
    frames = [
        frame(
            "X is on all ranks. Of A, rank r has column r, in its colour. Of B it has row r.",
            {},
        ),
        frame(
            "Each rank multiplies X by its column, and makes negative numbers 0. Nothing is sent: nobody needs more.",
            {"hidden": have["hidden"]},
        ),
        frame(
            "Each rank multiplies its hidden column by its row of B. The result has its full size, but it is a part.",
            {"hidden": have["hidden"]},
            ("Y", forward, None),
        ),
        frame(
            "The all-reduce adds up the parts, number by number. Now all ranks have Y, and it is that of one process.",
            {"hidden": have["hidden"]},
            ("Y", forward, have["Y"]),
        ),
        frame(
            "Back. All ranks have the gradient of Y. It takes each of them to its own hidden column; nothing is sent.",
            {"gradient of hidden": have["gradient of hidden"], "gradient of Y": BACK},
        ),
        frame(
            "Each rank goes back through its column of A, and has a part of X's gradient: what came by its own way.",
            {"gradient of hidden": have["gradient of hidden"], "gradient of Y": BACK},
            ("gradient of X", back, None),
        ),
        frame(
            "The second all-reduce adds up these parts. All ranks have the gradient of X, and pass it on.",
            {"gradient of hidden": have["gradient of hidden"], "gradient of Y": BACK},
            ("gradient of X", back, have["gradient of X"]),
        ),
    ]
    return Film("two matrix products on four ranks", frames)


def frame(words: str, above: dict[str, Matrix], below: tuple[str, list[Matrix], Matrix | None] | None = None) -> Frame:
    """A frame. above: the matrices beside X, A and B. below: what the parts make, the parts, and their sum."""
    shapes = [*matrix((AT["X"], UPPER), "X", X), *matrix((AT["A"], UPPER), "A", A, by_column)]
    hidden = next((name for name in above if "hidden" in name), "hidden")
    empty = [[None] * RANKS for _ in X]
    shapes += matrix((AT["hidden"], UPPER), hidden, above.get(hidden, empty), by_column)
    shapes += matrix((AT["B"], UPPER), "B", B, by_row)
    back = "gradient of Y" in above
    signs = {"X": "·", "A": "←" if back else "→", "hidden": "←" if back else "·"}
    for (name, sign), wide in zip(signs.items(), (2, 4, 4), strict=True):
        shapes.append(text(AT[name] + wide * CELL + 25, UPPER + CELL + 8, sign, 24))
    if back:
        shapes += matrix((AT["gradient of Y"], UPPER), "gradient of Y", above["gradient of Y"])
    alt = words
    if below:
        name, parts, total = below
        for rank, own in enumerate(parts):
            x = PARTS + rank * APART
            shapes += matrix((x, LOWER), f"rank {rank}", own, lambda row, column, rank=rank: COLOURS[rank])
            last = rank == len(parts) - 1
            if not last or total:
                shapes.append(text(x + 2 * CELL + 38, LOWER + CELL + 8, "=" if last else "+", 24))
        if total:
            shapes += matrix((SUM, LOWER), name, total)
        told = "; ".join(f"rank {rank}: {[*map(list, own)]}" for rank, own in enumerate(parts))
        alt += f" Parts of {name}: {told}." + (f" Their sum: {[*map(list, total)]}." if total else "")
    return Frame(svg(WIDTH, HEIGHT, alt, *shapes), words)


def by_column(row: int, column: int) -> str:
    """The colour of the rank that has the column."""
    return COLOURS[column]


def by_row(row: int, column: int) -> str:
    """The colour of the rank that has the row."""
    return COLOURS[row]


def matrix(
    place: tuple[float, float],
    name: str,
    rows: Sequence[Sequence[int | None]],
    owner: Callable[[int, int], str] | None = None,
) -> list[str]:
    """A matrix with its name above. owner: the colour of an entry; None: all ranks have it. None entries are empty."""
    left, top = place
    shapes = [text(left + len(rows[0]) * CELL / 2, top - 10, name, 14, bold=True)]
    for row, numbers in enumerate(rows):
        for column, number in enumerate(numbers):
            x, y = left + column * CELL, top + row * CELL
            fill = owner(row, column) if owner and number is not None else "none"
            shapes.append(box(x, y, CELL - 2, CELL - 2, fill, FAINT if number is None else INK))
            if number is not None:
                ink = INK if fill == "none" else ink_on(fill)
                shapes.append(text(x + CELL / 2 - 1, y + 21, str(number).replace("-", "−"), 15, ink=ink))
    return shapes
