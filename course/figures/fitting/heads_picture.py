"""Attention of a layer, cut by its heads: which part of each matrix a rank has, and where the ranks meet."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import INK

WIDTH, SIDE, EDGE = 408, 80, 8  # of the picture and of a matrix, and its margin
ROWS = (30, 154, 278)  # top of each row of matrices
SCORES = 60  # side of the scores of a head


def heads_picture(ranks: int = 4) -> Drawing:
    """A colour is a rank with a head; what has no colour is on all ranks. Raises ValueError for more ranks than six."""
    if not 1 <= ranks <= len(COLOURS) - 1:
        raise ValueError(f"1 to {len(COLOURS) - 1} ranks can be drawn, not {ranks}")
    places = [EDGE + 104 * number for number in range(4)]
    top, middle, low = ROWS
    shapes = [text(places[0] + SIDE / 2, top - 10, "tokens: X", 15), box(places[0], top, SIDE, SIDE, edge=INK)]
    for x, name in zip(places[1:], ("queries", "keys", "values"), strict=True):
        shapes.append(text(x + SIDE / 2, top - 10, name, 15))
        shapes += bands(x, top, ranks, columns=True)
    shapes.append(arrow((places[0] + SIDE + 3, top + SIDE / 2), (places[1] - 3, top + SIDE / 2)))

    apart = (WIDTH - 2 * EDGE - ranks * SCORES) / max(ranks - 1, 1)
    shapes.append(text(EDGE, middle - 10, "scores: each query to each key, a head on each rank", 15, "start"))
    for rank in range(ranks):
        x = EDGE + rank * (SCORES + min(apart, 40))
        shapes.append(box(x, middle, SCORES, SCORES, COLOURS[rank]))
        shapes.append(text(x + SCORES / 2, middle + SCORES / 2 + 5, str(rank), 15, ink=ink_on(COLOURS[rank])))

    names = "mixed", "rows of W", "sum: Y"
    for x, name in zip(places, names, strict=False):
        shapes.append(text(x + SIDE / 2, low - 10, name, 15))
    shapes += bands(places[0], low, ranks, columns=True)
    shapes.append(text(places[0] + SIDE + 12, low + SIDE / 2 + 6, "×", 18))
    shapes += bands(places[1], low, ranks, columns=False)
    shapes.append(arrow((places[1] + SIDE + 3, low + SIDE / 2), (places[2] - 3, low + SIDE / 2)))
    shapes.append(box(places[2], low, SIDE, SIDE, edge=INK))
    shapes.append(text(places[2] + SIDE + 8, low + SIDE / 2 - 4, "one", 15, "start"))
    shapes.append(text(places[2] + SIDE + 8, low + SIDE / 2 + 16, "all-reduce", 15, "start"))
    alt = (
        f"Attention on {ranks} ranks. The tokens are on all of them. Queries, keys and values are cut by columns: "
        "a head on each rank. Each rank has the scores of its own head, and mixes its own values. The matrix "
        "behind is cut by rows, so each rank has a part of the result, and one all-reduce adds them up."
    )
    return drawing(WIDTH, low + SIDE + 6, alt, *shapes)


def bands(x: float, y: float, ranks: int, columns: bool) -> list[str]:
    """A matrix, cut into a band for each rank."""
    shapes, wide = [], SIDE / ranks
    for rank in range(ranks):
        left, top = (x + rank * wide, y) if columns else (x, y + rank * wide)
        size = (wide - 1, SIDE) if columns else (SIDE, wide - 1)
        shapes.append(box(left, top, *size, COLOURS[rank]))
        shapes.append(text(left + size[0] / 2, top + size[1] / 2 + 5, str(rank), 14, ink=ink_on(COLOURS[rank])))
    return shapes
