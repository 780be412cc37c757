"""Measured speed-up on more and more ranks, against the ideal line."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def speedup_picture(seconds: Sequence[float], cores: int, ranks: Sequence[int] = (), *, ground: Ground) -> Picture:
    """How many times faster the same work is on more ranks than on one.

    seconds: times on 1, 2, 3, ... ranks, or on the numbers in `ranks`, the first of which is 1. cores: number of cores
    here; with more ranks than that, ranks share cores.
    """
    ranks = list(ranks or range(1, len(seconds) + 1))
    speedup = [seconds[0] / time for time in seconds]
    figure, axes = new_figure(
        6.4, 4.2, alt=f"Speed-up on 1 to {ranks[-1]} ranks: {[round(s, 2) for s in speedup]}.", ground=ground
    )
    top = max(*speedup, ranks[-1]) + 0.5
    label = "ranks"
    if cores < ranks[-1]:
        label = f"ranks (grey: more than the {cores} core{'s' * (cores > 1)} here)"
        axes.axvspan(cores + 0.5, ranks[-1] + 0.5, color=ground.faint, alpha=0.12, linewidth=0, zorder=0)
    axes.plot(ranks, ranks, color=ground.ink, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
    axes.text(ranks[-1] - 0.1, ranks[-1], "ideal", ha="right", va="bottom", color=ground.ink)
    axes.plot(ranks, speedup, "-o", color=COLOURS[0], linewidth=2, markersize=7, zorder=3)
    for rank, value in zip(ranks, speedup, strict=True):
        # Away from the ideal line, and clear of the axis.
        above = value > rank or value < 0.5
        axes.annotate(
            f"{value:.2f}",
            (rank, value),
            xytext=(0, 9 if above else -9),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
            color=ground.ink,
        )
    axes.set(xlim=(0.5, ranks[-1] + 0.5), ylim=(0, top), xlabel=label, ylabel="times faster than one rank")
    axes.set_xticks(ranks)
    axes.set_title("Speed-up, measured")
    quiet_grid(axes)
    return figure
