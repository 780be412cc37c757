"""Pictures of the slices of a curve and of an error that shrinks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from course.models.midpoints import midpoints

from ..figures.convergence import convergence_picture
from ..figures.slices import slices_picture


def curve(x: np.ndarray) -> np.ndarray:
    """What the lab integrates."""
    return 4 / (1 + x * x)


def strided(intervals: int, ranks: int) -> list[list[float]]:
    """The midpoints of each rank, dealt out in turn."""
    return [midpoints(intervals, range(rank, intervals, ranks)) for rank in range(ranks)]


# Slice 3 is evaluated by ranks 0 and 1, slices 12 and 13 by nobody, and one point is the middle of no slice.
WRONG = [midpoints(14, range(4)), midpoints(14, range(3, 9)), midpoints(14, range(9, 12)), [0.33]]
N = [10**power for power in range(8)]
FIGURES = {
    "slices": lambda: slices_picture(curve, 14, strided(14, 4), "14 slices"),
    "wrong slices": lambda: slices_picture(curve, 14, WRONG, "14 slices"),
    "every slice by all": lambda: slices_picture(curve, 20, [midpoints(20)] * 4, "20 slices"),
    "many slices": lambda: slices_picture(curve, 500, strided(500, 4), "500 slices"),
    "convergence": lambda: convergence_picture(N, [1 / (12 * n**2) for n in N]),
    "convergence of few": lambda: convergence_picture([1, 3], [0.06, 0.009]),
    "no error": lambda: convergence_picture(N, [0.06, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 0, 0]),
}


def test_each_slice_is_as_high_as_the_curve_in_its_middle_and_has_the_colour_of_its_rank() -> None:
    axes = FIGURES["slices"]().axes[0]
    bars = sorted(axes.patches, key=lambda bar: bar.get_x())
    assert [bar.get_height() for bar in bars] == pytest.approx(curve(np.array(midpoints(14))).tolist())
    colours = [bar.get_facecolor() for bar in bars]
    assert len(set(colours)) == 4
    assert all(colours[i] == colours[i % 4] for i in range(14))
    assert [text.get_text() for text in axes.texts] == [str(i % 4) for i in range(14)]


def test_slices_of_nobody_and_of_several_ranks_are_counted_in_the_legend() -> None:
    axes = FIGURES["wrong slices"]().axes[0]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["rank 0: 4", "rank 1: 6", "rank 2: 3", "rank 3: 1", "nobody: 2", "several: 1", "beside: 1"]
    assert [text.get_text() for text in axes.texts][3] == "×2"


def test_an_error_of_nothing_is_shown_below_the_distance_of_two_doubles() -> None:
    axes = FIGURES["no error"]().axes[0]
    shown = next(line for line in axes.get_lines() if len(line.get_xdata()) == len(N))
    spacing = np.spacing(math.pi)
    assert [y < spacing for y in shown.get_ydata()] == [False] * 6 + [True] * 2
    assert axes.get_ylim()[0] < min(shown.get_ydata())
