"""Error against the number of intervals: the convergence of the midpoint rule, and the limit of double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def convergence_picture(intervals: Sequence[int], errors: Sequence[float], *, ground: Ground) -> Picture:
    """Errors of the midpoint rule for pi with these numbers of intervals, on logarithmic axes.

    Also shows 1 / (12 n^2), the theoretical error for 4 / (1 + x^2), and the distance between two doubles near pi. An
    error of exactly 0, which a logarithmic axis lacks, is drawn hollow at half that distance.
    """
    spacing = float(np.spacing(math.pi))
    n = np.array(intervals, dtype=float)
    measured = np.abs(np.array(errors, dtype=float))
    shown = np.where(measured == 0, spacing / 2, measured)
    figure, axes = new_figure(
        7.2, 4.4, alt="Error of pi against the number of intervals, on logarithmic axes.", ground=ground
    )
    theory = np.geomspace(n.min(), max(n.max(), 10), 60)
    axes.loglog(theory, 1 / (12 * theory**2), color=ground.ink, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
    axes.axhline(spacing, color=ground.faint, linewidth=1, zorder=2)
    axes.loglog(n, shown, "o", color=COLOURS[0], markersize=6, zorder=3)
    axes.loglog(n[measured == 0], shown[measured == 0], "o", color=ground.paper, markersize=3.5, zorder=4)
    middle = theory[len(theory) // 3]
    axes.annotate(
        "1 / (12 n²): ten times the intervals,\na hundredth of the error",
        (middle, 1 / (12 * middle**2)),
        xytext=(10, 8),
        textcoords="offset points",
    )
    axes.annotate(
        "two neighbouring doubles near pi are this far apart",
        (n.min(), spacing),
        xytext=(0, 5),
        textcoords="offset points",
        color=ground.ink,
    )
    axes.set_ylim(spacing / 5, max(float(shown.max()), 1 / 12 / n.min() ** 2) * 5)
    axes.set(xlabel="intervals n", ylabel="|result - pi|")
    axes.set_title("Error against intervals")
    axes.tick_params(which="minor", color=ground.faint)
    quiet_grid(axes)
    return figure
