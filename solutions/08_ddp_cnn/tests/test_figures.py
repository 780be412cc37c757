"""Pictures of timed steps, of scaling, and of the layers of published networks."""

from __future__ import annotations

import pytest

from ..figures.cnn_layers import cnn_layers_picture
from ..figures.predicted_efficiency import efficiency, predicted_efficiency_picture
from ..figures.scaling import scaling_picture
from ..figures.step_movie import step_movie
from ..figures.timed_steps import timed_steps_picture
from ..models.layer_costs import LayerCost

TIMES = {"strong": [0.2, 0.124, 0.104, 0.098], "weak": [0.056, 0.076, 0.088, 0.098]}
COSTS = {
    "Inception V3": [LayerCost("convolution", 90, 10), LayerCost("dense", 10, 30)],
    "VGG-16": [LayerCost("convolution", 60, 40), LayerCost("convolution", 20, 10), LayerCost("dense", 20, 50)],
}
GIVEN = {"Inception V3": (34e9, 95e6), "ResNet-101": (47e9, 178e6), "VGG-16": (93e9, 553e6)}
FIGURES = {
    "timed steps": lambda: timed_steps_picture([1.0, 1.0, 2.5, 1.0], first=6.0, warmup=2, steps=5),
    "real scaling": lambda: scaling_picture("real", [1, 2, 3, 4], TIMES, (0.168, 0.032, 0.008), 2),
    "simulated scaling": lambda: scaling_picture("simulated", [1, 2, 3, 4], TIMES, (0.168, 0.032, 0.008), 2),
    "layers": lambda: cnn_layers_picture(COSTS),
    "prediction": lambda: predicted_efficiency_picture(GIVEN, 5e12, 3e9, 64),
}


def test_the_clock_starts_when_the_slowest_is_warm_and_stops_when_it_is_done() -> None:
    figure = FIGURES["timed steps"]()
    moments = sorted({line.get_xdata()[0] for line in figure.axes[0].get_lines() if line.get_linestyle() == "--"})
    assert moments == [2.5 * 7, 2.5 * 12]


def test_the_fits_parts_add_up_to_its_time_and_its_best_number_is_marked() -> None:
    axes = FIGURES["simulated scaling"]().axes[0]
    curve = axes.get_lines()[0]
    assert curve.get_ydata()[0] == pytest.approx(200)
    assert any("4.6" in text.get_text() for text in axes.texts)


@pytest.mark.thorough
def test_a_film_shows_what_was_measured() -> None:
    movie = step_movie(TIMES["strong"], 0.2, 0.008, ranks=(1, 2, 4))
    assert "4 ranks: 56 ms computing, 42 not" in movie.alt
    assert movie.gif[:3] == b"GIF" and movie.dark is not None


def test_layers_are_drawn_by_their_shares() -> None:
    alt = FIGURES["layers"]().alt
    assert "Inception V3: dense layers have 10.0% of the arithmetic and 75% of the weights" in alt


def test_a_ring_that_takes_as_long_as_the_arithmetic_halves_the_rate() -> None:
    assert efficiency(1e9, 1e9, 1, 1e9, 1e9) == 1
    assert efficiency(1e9, 1e9, 2, 1e9, 1e9) == 0.5
