"""Seconds against bytes: measured all-reduces beside their formulas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from course.figures.collectives.fit import crossing, ring_seconds, tree_seconds
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

FORMULAS = {"tree": tree_seconds, "ring": ring_seconds}


@on_both_grounds
def time_picture(
    measured: Mapping[str, Mapping[int, float]],
    size: int,
    title: str,
    fitted: tuple[float, float] | None = None,
    *,
    ground: Ground,
) -> Picture:
    """Dots for what was measured, lines by the formulas.

    measured: seconds by name ("tree", "ring", or another all-reduce) and bytes of the array. size: the number of ranks.
    fitted: alpha in seconds and beta in seconds per byte; without them there are no formulas.
    """
    told = [
        f"{name}: {', '.join(f'{1000 * seconds:.3g} ms for {in_units(nbytes)}' for nbytes, seconds in own.items())}"
        for name, own in measured.items()
    ]
    meet = crossing(*fitted, size) if fitted else None
    there = f" By the formulas the ring is faster from {in_units(meet)} on." if meet else ""
    alt = f"{title}. {'; '.join(told)}.{there}"
    figure, axes = new_figure(6.8, 4.2, alt=alt, ground=ground)
    sizes = sorted({nbytes for own in measured.values() for nbytes in own})
    for number, (name, own) in enumerate(measured.items()):
        colour = ground.text(COLOURS[number])
        seconds = [1000 * each for each in own.values()]
        line = "" if fitted and name in FORMULAS else "-"
        axes.plot([*own], seconds, "o", linestyle=line or "none", color=colour, markersize=6, label=name)
        if fitted and name in FORMULAS:
            along = np.geomspace(sizes[0], sizes[-1], 60)
            axes.plot(along, [1000 * FORMULAS[name](each, size, *fitted) for each in along], color=colour)
    if meet and sizes[0] < meet < sizes[-1]:
        axes.axvline(meet, color=ground.faint, linestyle=":")
        axes.annotate(
            f"{in_units(meet)}: from here on\nthe ring is faster",
            (meet, 0.97),
            xytext=(-6, 0),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            ha="right",
            va="top",
        )
    axes.set(xscale="log", yscale="log", xlabel="bytes of the array", ylabel="milliseconds")
    axes.set_xticks(sizes[::2], [in_units(each) for each in sizes[::2]])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_title(title)
    axes.legend(loc="lower right")
    quiet_grid(axes)
    return figure


def in_units(nbytes: float) -> str:
    """Bytes in B, kB or MB."""
    for unit, factor in ("MB", 1e6), ("kB", 1e3):
        if nbytes >= factor:
            return f"{nbytes / factor:.3g} {unit}"
    return f"{nbytes:.3g} B"
