"""The picture of how a mean of means weighs samples."""

from __future__ import annotations

import pytest

from ..figures.sample_weights import weights_picture

FIGURES = {
    "weights": lambda: weights_picture([8, 6, 2]),
    "weights of many": lambda: weights_picture([1, 9, 4, 2]),
}


def test_the_bars_of_a_mean_of_means_add_up_to_all_samples() -> None:
    bars = weights_picture([8, 6, 2]).axes[0].patches
    assert len(bars) == 16
    assert sum(bar.get_height() for bar in bars) == pytest.approx(16)
