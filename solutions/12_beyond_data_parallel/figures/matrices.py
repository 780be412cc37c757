"""The two weight matrices of an MLP, cut over ranks by columns, then by rows, and the bytes that this takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from course.figures.collectives.time_picture import in_units
from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.watch.events import Event

BATCH, INPUT, HIDDEN = 1.5, 1.5, 3.0  # sides of the matrices, as drawn
APART = 1.35  # between two of them
RADIUS = 0.34
FORWARD, BACKWARD = -3.6, -4.4  # heights of the arrows below
MOVES = ("allreduce", "reduce", "broadcast", "gather", "allgather", "reduce_scatter", "alltoall", "send")

Shape = Sequence[int]


def bytes_by_pass(events: Sequence[Event]) -> dict[str, int]:
    """Bytes that a rank hands to its collectives and messages in each pass.

    events: of one rank, that meets the others at a barrier after the forward and before the backward pass. Raises
    ValueError if it meets them never, or more than once.
    """
    barriers = [number for number, event in enumerate(events) if event["kind"] == "barrier"]
    if len(barriers) != 1:
        raise ValueError(f"there has to be one barrier, between the passes, and there are {len(barriers)}")
    parts = {"forward": events[: barriers[0]], "backward": events[barriers[0] :]}
    return {name: sum(e["bytes"] or 0 for e in part if e["kind"] in MOVES) for name, part in parts.items()}


@on_both_grounds
def matrices_picture(
    shapes: Sequence[Mapping[str, Shape]], x: Shape, sent: Mapping[str, int], itemsize: int = 4, *, ground: Ground
) -> Picture:
    """Where each rank's share of the weights is, in the order of the computation: x, f, w1, w2, g, output.

    shapes: by rank, those of its parameters `w1` [h_r, d] and `w2` [o, h_r]; the picture shows them transposed, as the
    product has them. x: shape of the input [..., d]. sent: bytes that a rank hands over, in the "forward" and in the
    "backward" pass. itemsize: bytes of a number. Raises ValueError if a rank has no matrix `w1` or `w2`.
    """
    for rank, own in enumerate(shapes):
        if not {"w1", "w2"} <= {name for name, shape in own.items() if len(shape) == 2}:
            raise ValueError(f"rank {rank} has to have matrices w1 and w2, and has {dict(own)}")
    shares = [own["w1"][0] for own in shapes]
    hidden, inputs, outputs = sum(shares), shapes[0]["w1"][1], shapes[0]["w2"][0]
    batch = math.prod(x[:-1])
    ranks = len(shapes)
    alt = (
        f"An MLP from {inputs} over {hidden} to {outputs} units on {ranks} ranks: columns of the first matrix, then "
        f"rows of the second one, {listed(shares)} on each. A rank has {of_ranks(shapes, 'w1', itemsize)} of "
        f"{in_units(hidden * inputs * itemsize)}, and {of_ranks(shapes, 'w2', itemsize)} of "
        f"{in_units(hidden * outputs * itemsize)}. It hands over {in_units(sent['forward'])} in the forward pass, and "
        f"{in_units(sent['backward'])} in the backward pass."
    )
    figure, axes = new_figure(8.9, 4.4, alt=alt, ground=ground)
    left, places = 0.0, {}
    wholes = {
        "x": (batch, inputs, BATCH, INPUT, None, ""),
        "w1ᵀ": (inputs, hidden, INPUT, HIDDEN, "columns", f"a rank: {of_ranks(shapes, 'w1', itemsize)}"),
        "hidden": (batch, hidden, BATCH, HIDDEN, "columns", f"a rank: {of_parts(shares, batch, itemsize)}"),
        "w2ᵀ": (hidden, outputs, HIDDEN, INPUT, "rows", f"a rank: {of_ranks(shapes, 'w2', itemsize)}"),
        "output": (batch, outputs, BATCH, INPUT, None, ""),
    }
    for name, (rows, columns, high, wide, cut, more) in wholes.items():
        draw_matrix(axes, (left, wide, high), shares if cut else [], cut == "rows", ground)
        middle = left + wide / 2
        axes.text(middle, HIDDEN / 2 + 0.65, name, ha="center", va="bottom", fontweight="bold")
        axes.text(middle, HIDDEN / 2 + 0.2, f"cut by {cut}" if cut else "on all ranks", ha="center", va="bottom")
        words = f"{rows} × {columns}\n{in_units(rows * columns * itemsize)}\n{more}".rstrip()
        axes.text(middle, -HIDDEN / 2 - 0.2, words, ha="center", va="top", linespacing=1.35)
        places[name] = left, left + wide
        left += wide + APART
    right = left - APART
    at = {"f": between(places, "x", "w1ᵀ"), "g": between(places, "w2ᵀ", "output")}
    for name, place in at.items():
        axes.add_patch(Circle((place, 0), RADIUS, facecolor=ground.paper, edgecolor=ground.ink, linewidth=1.4))
        axes.text(place, 0, name, ha="center", va="center_baseline", fontweight="bold")
    axes.text(between(places, "w1ᵀ", "hidden"), 0, "→", ha="center", va="center", fontsize=14)
    axes.text(between(places, "w1ᵀ", "hidden"), 0.3, "activation", ha="center", va="bottom", fontsize=8.5)
    axes.text(between(places, "hidden", "w2ᵀ"), 0, "·", ha="center", va="center", fontsize=20)
    draw_pass(axes, (0, right), at["g"], FORWARD, ("forward", "g", sent["forward"]), ground)
    draw_pass(axes, (right, 0), at["f"], BACKWARD, ("backward", "f", sent["backward"]), ground)
    for rank in range(ranks):
        fill = COLOURS[rank % len(COLOURS)]
        axes.plot([], [], linewidth=8, color=fill, label=f"rank {rank}")
    figure.legend(loc="outside lower center", ncols=ranks)
    axes.set(xlim=(-0.3, right + 0.3), ylim=(BACKWARD - 0.25, HIDDEN / 2 + 1.1), aspect="equal")
    axes.set_axis_off()
    return figure


def draw_matrix(
    axes: Axes, place: tuple[float, float, float], shares: Sequence[int], by_rows: bool, ground: Ground
) -> None:
    """A matrix, cut in the ranks' shares, or whole. place: its left end, its width and its height."""
    left, wide, high = place
    begin, whole = 0.0, sum(shares)
    for rank, share in enumerate(shares):
        part, fill = share / whole, COLOURS[rank % len(COLOURS)]
        if by_rows:
            corner, size = (left, high / 2 - (begin + part) * high), (wide, part * high)
        else:
            corner, size = (left + begin * wide, -high / 2), (part * wide, high)
        axes.add_patch(Rectangle(corner, *size, facecolor=fill, edgecolor=ground.paper, linewidth=1.2))
        middle = corner[0] + size[0] / 2, corner[1] + size[1] / 2
        if part > 0.08:
            axes.text(*middle, rank, ha="center", va="center_baseline", color=ink_on(fill))
        begin += part
    if not shares:
        axes.add_patch(Rectangle((left, -high / 2), wide, high, facecolor=ground.pale, edgecolor=ground.faint))


def draw_pass(
    axes: Axes, ends: tuple[float, float], at: float, height: float, told: tuple[str, str, int], ground: Ground
) -> None:
    """An arrow for a pass, with a ring where it communicates, at `at`. ends: where it begins and ends.

    told: its name, where it communicates, and the bytes that a rank hands over.
    """
    name, place, count = told
    arrow = {"arrowstyle": "-|>", "color": ground.ink, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (ends[1], height), (ends[0], height), arrowprops=arrow)
    if count:
        ring = Circle((at, height), 0.16, facecolor=ground.paper, edgecolor=ground.ink, linewidth=1.4, zorder=3)
        axes.add_patch(ring)
    words = f"in {place}, each rank hands over {in_units(count)}" if count else "nothing is sent"
    axes.text(sum(ends) / 2, height + 0.12, f"{name} pass: {words}", ha="center", va="bottom")


def between(places: Mapping[str, tuple[float, float]], one: str, other: str) -> float:
    """The middle between two matrices."""
    return (places[one][1] + places[other][0]) / 2


def of_ranks(shapes: Sequence[Mapping[str, Shape]], name: str, itemsize: int) -> str:
    """The bytes of each rank's part of a matrix."""
    return of_parts([math.prod(own[name]) for own in shapes], 1, itemsize)


def of_parts(numbers: Sequence[int], times: int, itemsize: int) -> str:
    """The bytes of each rank's part, or those of the smallest and of the largest."""
    least, most = (in_units(pick(numbers) * times * itemsize) for pick in (min, max))
    return most if least == most else f"{least} to {most}"


def listed(shares: Sequence[int]) -> str:
    """``16``, or ``3, 2, 2`` where ranks differ."""
    return str(shares[0]) if len({*shares}) == 1 else ", ".join(map(str, shares))
