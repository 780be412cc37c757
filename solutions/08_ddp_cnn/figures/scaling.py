"""Time, speed-up and efficiency on more and more ranks, and the parts that a fit finds in the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from matplotlib.axes import Axes

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

PARTS = ("T_par / N", "T_seq", "T_comm (N - 1)")
FURTHER = 8  # ranks up to which the fit is drawn


@on_both_grounds
def scaling_picture(
    where: str,
    ranks: Sequence[int],
    times: Mapping[str, Sequence[float]],
    fit: Sequence[float],
    cores: int,
    *,
    ground: Ground,
) -> Picture:
    """Left: times of strong and weak scaling, with the fit's parts stacked below; then speed-up and efficiency.

    where: "real" or "simulated". ranks: N. times: seconds of a step, "strong" and "weak", for each N. fit: T_par, T_seq
    and T_comm of the strong scaling. cores: of this machine; real ranks beyond that share them.
    """
    strong, weak = times["strong"], times["weak"]
    speedup, efficiency = [strong[0] / each for each in strong], [weak[0] / each for each in weak]
    words = ", ".join(f"{1000 * each:.1f} ms on {n}" for n, each in zip(ranks, strong, strict=True))
    told = ", ".join(f"{name} {1000 * part:.1f} ms" for name, part in zip(PARTS, fit, strict=True))
    alt = (
        f"A {where} step takes {words} ranks. The fit: {told}. Speed-up {speedup[-1]:.2f} and weak efficiency "
        f"{efficiency[-1]:.2f} on {ranks[-1]} ranks."
    )
    figure, (left, middle, right) = new_figure(9.6, 3.6, columns=(1.5, 1, 1), alt=alt, ground=ground)
    draw_parts(left, ranks, strong, fit, ground)
    left.plot(ranks, [1000 * each for each in weak], "s--", color=ground.text(COLOURS[1]), markersize=6, linewidth=1.2)
    left.set_title(f"A step, {where}")
    left.set_ylim(0, 1300 * max(*strong, *weak))
    if where == "real" and cores < ranks[-1]:
        for axes in (left, middle, right):
            axes.axvspan(cores + 0.05, FURTHER + 1, color=ground.faint, alpha=0.12, linewidth=0, zorder=0)
        words = f"grey: more than {cores} cores"
        left.text(FURTHER - 0.1, 0.98, words, va="top", ha="right", transform=left.get_xaxis_transform())
    ideal = {"color": ground.ink, "linewidth": 1, "linestyle": (0, (4, 3))}
    middle.plot(ranks, ranks, **ideal)
    middle.plot(ranks, speedup, "-o", color=ground.text(COLOURS[0]), linewidth=2)
    middle.set_title("Speed-up, strong")
    right.plot(ranks, [1] * len(ranks), **ideal)
    right.plot(ranks, efficiency, "--s", color=ground.text(COLOURS[1]), linewidth=1.6)
    right.set_title("Efficiency, weak")
    for axes, top in ((middle, max(ranks) + 0.3), (right, 1.1)):
        axes.set(xlabel="ranks N", ylim=(0, top), xlim=(0.7, ranks[-1] + 0.3), xticks=list(ranks))
        quiet_grid(axes)
    return figure


def draw_parts(
    axes: Axes, ranks: Sequence[int], seconds: Sequence[float], fit: Sequence[float], ground: Ground
) -> None:
    """The parts of the fit, stacked, up to more ranks than were measured, and the measured times as dots."""
    n = np.linspace(ranks[0], FURTHER, 100)
    parts = [1000 * part * factor for part, factor in zip(fit, (1 / n, np.ones_like(n), n - 1), strict=True)]
    order = (1, 2, 0)  # what stays below, what shrinks on top
    colours = [COLOURS[number] for number in (5, 6, 4)]
    axes.stackplot(n, [parts[number] for number in order], colors=[colours[number] for number in order], alpha=0.45)
    axes.plot(n, sum(parts), color=ground.ink, linewidth=1.2)
    axes.plot(ranks, [1000 * each for each in seconds], "o", color=ground.text(COLOURS[0]), markersize=8, zorder=5)
    par, _, comm = fit
    if comm > 0 and ranks[0] < sqrt(par / comm) < FURTHER:
        best = sqrt(par / comm)
        axes.axvline(best, color=ground.ink, linewidth=1, linestyle=(0, (2, 3)))
        axes.text(best, 0.87, f" fastest: {best:.1f}", transform=axes.get_xaxis_transform(), va="top")
    handles = [axes.plot([], [], linewidth=7, alpha=0.45, color=colours[number])[0] for number in (0, 2, 1)]
    handles += axes.plot([], [], "o", color=ground.text(COLOURS[0]))
    handles += axes.plot([], [], "s--", color=ground.text(COLOURS[1]))
    labels = [PARTS[0], PARTS[2], PARTS[1], "strong, measured", "weak, measured"]
    axes.figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, columnspacing=1.2)
    axes.set(xlabel="ranks N", ylabel="milliseconds", xlim=(ranks[0] - 0.2, FURTHER))
    axes.set_xticks(range(ranks[0], FURTHER + 1))
    quiet_grid(axes)
