"""The picture of how much faster several ranks are."""

from __future__ import annotations

import pytest

from course.figures.scaling.speedup import speedup_picture

FIGURES = {
    "speed-up": lambda: speedup_picture([1, 0.51, 0.34, 0.27], cores=16),
    "speed-up that goes flat": lambda: speedup_picture([1, 0.53, 0.52, 0.5], cores=2),
    "slower": lambda: speedup_picture([1, 1.3, 2, 4], cores=1),
    "faster than ideal": lambda: speedup_picture([1, 0.4, 0.2, 0.15], cores=4),
}


def test_speed_up_is_the_time_of_one_rank_over_that_of_more() -> None:
    axes = FIGURES["speed-up that goes flat"]().axes[0]
    assert axes.patches[0].get_x() == 2.5, "grey begins behind the last number of ranks that have a core each"
    measured = axes.get_lines()[-1]
    assert list(measured.get_ydata()) == pytest.approx([1, 1 / 0.53, 1 / 0.52, 2])
    assert "2 cores" in axes.get_xlabel()
