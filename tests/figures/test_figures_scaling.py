"""Pictures of scaling: what is drawn is where the ranks are, what was measured, and what follows from it."""

from __future__ import annotations

from course.batch.srun_tasks import tasks_of
from course.figures.scaling.brakes_film import Cost, brakes_film, how_fast, time_bars
from course.figures.scaling.measured_times import measured_times_picture
from course.figures.scaling.task_layout import nodes_of, task_layout_picture

LAYOUTS = {name: tasks_of("n[1-3]", [3, 1, 1], cyclic=name == "in turns") for name in ("in blocks", "in turns")}
FIGURES = {
    "layout": lambda: task_layout_picture(LAYOUTS),
    "layout with a guess": lambda: task_layout_picture({"in blocks": LAYOUTS["in blocks"]}, (1, 0)),
    "measured times": lambda: measured_times_picture(
        [1, 2, 4], {"a": [0.1, 0.06, 0.05], "b": [0.2, 0.1, 0.1]}, {"a": [0.1, 0.11, 0.2], "b": [0.2, 0.2, 0.2]}, 2
    ),
}


def test_ranks_are_drawn_on_their_nodes() -> None:
    assert nodes_of(LAYOUTS["in turns"]) == {0: ["0", "3", "4"], 1: ["1"], 2: ["2"]}
    assert "in turns: node 0 has ranks 0 3 4" in FIGURES["layout"]().alt


def test_a_guess_of_a_place_is_drawn_at_that_place() -> None:
    figure = FIGURES["layout with a guess"]()
    (said,) = (text for text in figure.axes[0].texts if text.get_text() == "your guess")
    assert said.get_position()[0] == 1.5 and figure.alt.endswith("You guessed local rank 0 on node 1.")
    assert not [text for axes in FIGURES["layout"]().axes for text in axes.texts if text.get_text() == "your guess"]


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
