"""The figures of lab 08: what is drawn is where the ranks are, what was measured, and what follows from it."""

from __future__ import annotations

import pytest

from course.batch.srun_tasks import tasks_of
from course.figures.scaling.brakes_film import Cost, brakes_film, how_fast, time_bars
from course.figures.scaling.cnn_layers import cnn_layers_picture
from course.figures.scaling.measured_times import measured_times_picture
from course.figures.scaling.predicted_efficiency import efficiency, predicted_efficiency_picture
from course.figures.scaling.scaling import scaling_picture
from course.figures.scaling.step_movie import step_movie
from course.figures.scaling.task_layout import nodes_of, task_layout_picture
from course.figures.scaling.timed_steps import timed_steps_picture
from course.models.layer_costs import LayerCost

LAYOUTS = {name: tasks_of("n[1-3]", [3, 1, 1], cyclic=name == "in turns") for name in ("in blocks", "in turns")}
TIMES = {"strong": [0.2, 0.124, 0.104, 0.098], "weak": [0.056, 0.076, 0.088, 0.098]}
COSTS = {
    "Inception V3": [LayerCost("convolution", 90, 10), LayerCost("dense", 10, 30)],
    "VGG-16": [LayerCost("convolution", 60, 40), LayerCost("convolution", 20, 10), LayerCost("dense", 20, 50)],
}
GIVEN = {"Inception V3": (34e9, 95e6), "ResNet-101": (47e9, 178e6), "VGG-16": (93e9, 553e6)}
FIGURES = {
    "layout": lambda: task_layout_picture(LAYOUTS),
    "layout with a guess": lambda: task_layout_picture({"in blocks": LAYOUTS["in blocks"]}, (1, 0)),
    "timed steps": lambda: timed_steps_picture([1.0, 1.0, 2.5, 1.0], first=6.0, warmup=2, steps=5),
    "real scaling": lambda: scaling_picture("real", [1, 2, 3, 4], TIMES, (0.168, 0.032, 0.008), 2),
    "simulated scaling": lambda: scaling_picture("simulated", [1, 2, 3, 4], TIMES, (0.168, 0.032, 0.008), 2),
    "measured times": lambda: measured_times_picture(
        [1, 2, 4], {"a": [0.1, 0.06, 0.05], "b": [0.2, 0.1, 0.1]}, {"a": [0.1, 0.11, 0.2], "b": [0.2, 0.2, 0.2]}, 2
    ),
    "layers": lambda: cnn_layers_picture(COSTS),
    "prediction": lambda: predicted_efficiency_picture(GIVEN, 5e12, 3e9, 64),
}


def test_ranks_are_drawn_on_their_nodes() -> None:
    assert nodes_of(LAYOUTS["in turns"]) == {0: ["0", "3", "4"], 1: ["1"], 2: ["2"]}
    assert "in turns: node 0 has ranks 0 3 4" in FIGURES["layout"]().alt


def test_a_guess_of_a_place_is_drawn_at_that_place() -> None:
    figure = FIGURES["layout with a guess"]()
    (said,) = (text for text in figure.axes[0].texts if text.get_text() == "your guess")
    assert said.get_position()[0] == 1.5 and figure.alt.endswith("You guessed local rank 0 on node 1.")
    assert not [text for axes in FIGURES["layout"]().axes for text in axes.texts if text.get_text() == "your guess"]


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


JOB = Cost(par=90, seq=10, per_doubling=2)
DOUBLINGS = [1, 2, 4, 8, 16, 32, 64, 128]


def test_the_brakes_are_told_by_part_and_the_best_is_found() -> None:
    frames = brakes_film(JOB, DOUBLINGS).frames
    assert frames[1].caption.startswith("On 2 ranks: 45.0 s of shared work, 10.0 s that nobody shares, 2.0 s of comm")
    slower = [frame.caption for frame in frames if "slower than" in frame.caption]
    assert [words.split(":")[0] for words in slower] == ["On 64 ranks", "On 128 ranks"]
    assert frames[-1].caption.startswith("The best is 32 ranks, 4.4 times as fast as one.")
    assert time_bars(JOB, DOUBLINGS, 16).alt.endswith("The least is on 32. You guessed 16.")
    assert "your guess" in time_bars(JOB, DOUBLINGS, 16).markup
    assert "your guess" not in time_bars(JOB, DOUBLINGS).markup
    assert how_fast(JOB, DOUBLINGS).markup.count("?") == 8  # one of them in the description


def test_measured_times_stand_beside_the_ideal_ones() -> None:
    drawn = measured_times_picture([1, 2, 4], {"a": [0.1, 0.06, 0.05]}, {"a": [0.1, 0.11, 0.2]}, 2)
    assert "strong scaling, a: 100 ms on 1, 60 ms on 2, 50 ms on 4" in drawn.alt
    ideals = [list(axes.lines[1].get_ydata()) for axes in drawn.axes[:2]]
    assert ideals == [[100, 50, 25], [100, 100, 100]]
