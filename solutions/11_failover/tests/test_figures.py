"""Pictures and films of a run that is killed and resumed."""

from __future__ import annotations

import io

import pytest
from drawn_attempts import AGAIN, KILLED, RANKS, saves, steps
from PIL import Image

from course.figures.failures import young
from course.figures.failures.attempts import Attempt, failures_of
from course.figures.failures.share_lost import share_lost_picture

from ..figures.failover_movie import failover_movie, states_at
from ..figures.resume import resume_picture
from ..figures.share_by_nodes import share_by_nodes_picture

YEARS = 365.25 * 86400


TWICE = Attempt(101.3, 103.25, 103.5, steps(103.5, 9, 14), saves(103.5, 9, 14, 4), killed=(104.15, 0))
THIRD = Attempt(104.2, 105.0, 105.2, steps(105.2, 13, 16), saves(105.2, 13, 16, 4))
AT_ONCE = Attempt(99.0, 99.9, 100, [[] for _ in range(RANKS)], [], killed=(100.02, 3))
WHOLE = Attempt(100.1, 101.0, 101.1, steps(101.1, 1, 6), saves(101.1, 1, 6, 4))


def exact(step_seconds: float, save_seconds: float, node_mtbf_seconds: float, nodes: int) -> int:
    return young.least(step_seconds, save_seconds, node_mtbf_seconds / nodes)


FIGURES = {
    "resume": lambda: resume_picture([KILLED, AGAIN]),
    "resumed twice": lambda: resume_picture([KILLED, TWICE, THIRD], rank=3),
    "killed at once": lambda: resume_picture([AT_ONCE, WHOLE]),
    "nobody killed": lambda: resume_picture([WHOLE]),
    "nodes": lambda: share_by_nodes_picture(0.03, 0.01, 5 * YEARS, best=exact),
    "nodes, slow saves": lambda: share_by_nodes_picture(0.03, 60.0, 5 * YEARS, (1, 16, 100, 1000, 100_000)),
}


def test_what_a_kill_costs_is_split_by_the_marks_of_the_run() -> None:
    [failure] = failures_of([KILLED, AGAIN])
    assert (failure.back, list(failure.lost)) == (8, [9, 10])
    parts = {"noticing": 0.2, "starting": 2.0, "loading": 0.25, "redoing": 0.203}
    assert failure.parts() == pytest.approx(parts)
    alt = FIGURES["resume"]().alt
    assert "Rank 2 was killed after step 10; 2 steps made again from step 9 on: 2.65 s" in alt


def test_bars_are_as_long_as_the_parts() -> None:
    below = FIGURES["resume"]().axes[1]
    widths = {bar.get_gid(): bar.get_width() for bar in below.patches}
    assert widths == pytest.approx(failures_of([KILLED, AGAIN])[0].parts())


def test_the_clock_begins_with_the_first_step_and_the_losses_are_those_of_the_rank() -> None:
    lines = {line.get_label(): line for line in resume_picture([KILLED, AGAIN], rank=1).axes[0].get_lines()}
    until, after = lines["until the kill"], lines["after the resume"]
    assert until.get_xdata() == pytest.approx([0.1 * number + 0.001 for number in range(1, 11)])
    assert [*until.get_ydata()] == pytest.approx([3 / number for number in range(1, 11)])
    assert after.get_xdata()[0] == pytest.approx(3.601) and after.get_ydata()[0] == pytest.approx(3 / 9)


def test_each_kill_has_a_bar_and_a_run_without_one_has_none() -> None:
    assert [text.get_text() for text in FIGURES["resumed twice"]().axes[1].get_yticklabels()] == ["rank 2", "rank 0"]
    assert len(FIGURES["nobody killed"]().axes) == 1


def test_steps_in_the_film_are_done_then_lost_then_made_again() -> None:
    attempts = [KILLED, AGAIN]
    failures = failures_of(attempts)
    at = {now: states_at(attempts, failures, now, RANKS, 16)[2] for now in (100.0, 101.1, 102.0, 103.65, 200.0)}
    assert set(at[100.0]) == {""}
    assert [*at[101.1]] == 10 * ["done"] + 6 * [""], "nobody knows yet"
    assert [*at[102.0]] == 8 * ["done"] + 2 * ["lost"] + 6 * [""]
    assert [*at[103.65][8:11]] == ["again", "lost", ""]
    assert [*at[200.0]] == 8 * ["done"] + 2 * ["again"] + 6 * ["done"]


@pytest.mark.thorough
@pytest.mark.parametrize("attempts", [[KILLED, AGAIN], [KILLED, TWICE, THIRD], [AT_ONCE, WHOLE], [WHOLE]])
def test_the_film_rests_at_each_kill_and_at_each_way_back(attempts: list[Attempt]) -> None:
    movie = failover_movie(attempts)
    image = Image.open(io.BytesIO(movie.gif))
    rests = []
    for frame in range(image.n_frames):
        image.seek(frame)
        rests.append(image.info["duration"] >= 1000)
    assert sum(rests) == 2 * len(failures_of(attempts)) + 1
    assert movie.dark is not None and len(movie.gif) < 400_000 and movie.width <= 1000


@pytest.mark.thorough
def test_a_film_tells_what_it_shows() -> None:
    alt = failover_movie([KILLED, AGAIN]).alt
    assert alt.startswith("4 ranks make 16 steps. Rank 2 is killed after step 10; 2.5 s later all go on from the flag")
    assert "after step 8, and make 2 steps again" in alt
    assert "go on from the beginning" in failover_movie([AT_ONCE, WHOLE]).alt


def test_a_hundred_times_the_nodes_lose_ten_times_the_share() -> None:
    alt = FIGURES["nodes"]().alt
    assert "0.0011% at k = 59,215 on 1 node, 0.011% at k = 5,921 on 100 nodes, 0.11% at k = 592 on" in alt


@pytest.mark.parametrize("answer", [0, -3, None, float("nan"), "ten"])
def test_an_answer_that_is_no_number_of_steps_is_not_drawn(answer: object) -> None:
    assert "Your" not in share_lost_picture(0.03, 0.01, 3.0, answer).alt
    assert "your" not in share_by_nodes_picture(0.03, 0.01, 5 * YEARS, best=lambda *given: answer).alt
