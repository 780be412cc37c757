"""Which rank evaluates which slice: the area under a curve, cut into rectangles that are coloured by rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.models.midpoints import interval_numbers

DASHED = {"facecolor": "none", "linestyle": (0, (2, 2))}
NUMBERED = 20  # with up to this many slices, each shows its rank, or how many ranks evaluate it


@on_both_grounds
def slices_picture(
    function: Callable[[np.ndarray], np.ndarray],
    intervals: int,
    points: Sequence[Sequence[float]],
    title: str,
    count: str = "evaluations",
    *,
    ground: Ground,
) -> Picture:
    """The area under `function` on [0, 1] in `intervals` slices, each in the colour of the rank that evaluates it.

    points: by rank, the points it evaluated, see `course.models.midpoints.recorded`. count: what the legend counts of
    a rank; before anything is evaluated, "slices". A slice that nobody evaluates is
    empty, one that several evaluate is hatched, and the legend counts both. A point that is not the middle of a slice
    appears as a cross on the curve.
    """
    owners: list[list[int]] = [[] for _ in range(intervals)]
    strays: list[float] = []
    for rank, evaluated in enumerate(points):
        for x, i in zip(evaluated, interval_numbers(intervals, evaluated), strict=True):
            if 0 <= i < intervals and abs(x - (i + 0.5) / intervals) < 1e-9:
                owners[i].append(rank)
            else:
                strays.append(x)
    counts = [len(evaluated) for evaluated in points]
    alt = f"Area under a curve in {intervals} slices, coloured by rank: {counts} {count}."
    figure, axes = new_figure(7.6, 3.6, alt=alt, ground=ground)
    draw_slices(axes, function, owners, strays, ground)
    name_ranks(axes, points, owners, strays, count, ground)
    axes.set_title(title)
    return figure


def draw_slices(
    axes: Axes,
    function: Callable[[np.ndarray], np.ndarray],
    owners: Sequence[Sequence[int]],
    strays: Sequence[float],
    ground: Ground,
) -> None:
    """Draw curve and slices. owners: by slice, the ranks that evaluated it. strays: points that are not middles."""
    intervals = len(owners)
    heights = function((np.arange(intervals) + 0.5) / intervals)
    for i, (ranks, height) in enumerate(zip(owners, heights, strict=True)):
        # Edges are drawn only where a slice is wide enough to keep its colour.
        line = 0.8 if intervals <= 200 else 0
        middle, width = (i + 0.5) / intervals, 1 / intervals
        style = {"edgecolor": ground.ink, **DASHED}
        if ranks:
            style = {"facecolor": COLOURS[ranks[0] % len(COLOURS)], "edgecolor": ground.paper}
        axes.bar(middle, height, width, linewidth=line, **style)
        if len(ranks) > 1:
            again = {"facecolor": "none", "edgecolor": ground.paper, "hatch": "////"}
            axes.bar(middle, height, width, linewidth=line, **again)
        if intervals <= NUMBERED:
            text = "?" if not ranks else str(ranks[0]) if len(ranks) == 1 else f"×{len(ranks)}"
            box = {"facecolor": ground.paper, "linewidth": 0, "pad": 1.5}
            axes.text(middle, 0.14, text, ha="center", va="bottom", bbox=box)
    x = np.linspace(0, 1, 400)
    axes.plot(x, function(x), color=ground.ink, linewidth=1.6)
    inside = np.array([x for x in strays if 0 <= x <= 1])
    axes.plot(inside, function(inside) if len(inside) else [], "x", color=ground.ink, markersize=6)
    axes.set(xlim=(0, 1), ylim=(0, None), xlabel="x", ylabel="f(x)")


def name_ranks(
    axes: Axes,
    points: Sequence[Sequence[float]],
    owners: Sequence[Sequence[int]],
    strays: Sequence[float],
    count: str,
    ground: Ground,
) -> None:
    """Draw the legend: how many evaluations each rank made, or slices it has, and what went wrong. count: which."""
    handles = [
        Patch(color=COLOURS[rank % len(COLOURS)], label=f"rank {rank}: {len(evaluated)}")
        for rank, evaluated in enumerate(points)
    ]
    if missing := sum(not ranks for ranks in owners):
        handles.append(Patch(edgecolor=ground.ink, **DASHED, label=f"nobody: {missing}"))
    if twice := sum(len(ranks) > 1 for ranks in owners):
        handles.append(Patch(facecolor=ground.ink, edgecolor=ground.paper, hatch="////", label=f"several: {twice}"))
    if strays:
        handles.append(axes.plot([], [], "x", color=ground.ink, label=f"beside: {len(strays)}")[0])
    legend = axes.legend(handles=handles, title=count, loc="center left", bbox_to_anchor=(1.01, 0.5))
    legend._legend_box.align = "left"
