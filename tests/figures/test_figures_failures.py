"""Pictures of runs that are killed: what is drawn is what the ranks noted, and what Young's arithmetic makes of it."""

from __future__ import annotations

import pytest
from drawn_attempts import AGAIN, KILLED, RANKS, saves, steps

from course.figures.failures import young
from course.figures.failures.attempts import Attempt, failures_of
from course.figures.failures.node_film import half_gone, node_film
from course.figures.failures.reshard import reshard_picture
from course.figures.failures.share_lost import share_lost_picture
from course.figures.failures.twice import twice_picture

AT_ONCE = Attempt(99.0, 99.9, 100, [[] for _ in range(RANKS)], [], killed=(100.02, 3))
UNDISTURBED = [(step, 4 / step) for step in range(1, 11)]
WHOLE = Attempt(100.1, 101.0, 101.1, steps(101.1, 1, 6), saves(101.1, 1, 6, 4))


FIGURES = {
    "share lost": lambda: share_lost_picture(0.03, 0.01, 3.0, 8, [(2, 0.2), (20, 0.15)]),
    "share lost, save each step": lambda: share_lost_picture(0.03, 0.0001, 0.5, 1),
    "share lost, much": lambda: share_lost_picture(0.03, 2.0, 1.0, 500, [(50, 1.0)]),
    "twice": lambda: twice_picture("Killed", UNDISTURBED, UNDISTURBED[:6], UNDISTURBED[4:], [4], 3),
    "never twice": lambda: twice_picture("Killed", UNDISTURBED, UNDISTURBED[:4], UNDISTURBED[4:]),
}


def test_a_kill_before_any_checkpoint_goes_back_to_the_beginning() -> None:
    [failure] = failures_of([AT_ONCE, WHOLE])
    assert (failure.back, list(failure.lost), failure.saved_at) == (0, [], 100)
    assert failure.parts()["redoing"] == 0


def test_a_run_killed_again_before_its_first_step_still_knows_its_checkpoint() -> None:
    stillborn = Attempt(101.3, 103.2, 103.5, [[] for _ in range(RANKS)], [], killed=(103.52, 1))
    assert [failure.back for failure in failures_of([KILLED, stillborn, AGAIN])] == [8, 8]
    last = failures_of([KILLED, stillborn])
    assert [failure.back for failure in last] == [8]


@pytest.mark.parametrize("given", [(0.03, 0.01, 3.0), (0.1, 30.0, 1e6), (1.0, 0.001, 5.0), (0.5, 4.0, 10.0)])
def test_least_is_lost_at_the_marked_number_of_steps(given: tuple[float, float, float]) -> None:
    k = young.least(*given)
    shares = {other: young.share_lost(other, *given) for other in range(max(1, k - 3), k + 4)}
    assert min(shares, key=shares.get) == k >= 1


def test_young_s_curve_is_drawn_from_what_was_measured() -> None:
    lines = {line.get_label(): line for line in FIGURES["share lost"]().axes[0].get_lines()}
    curve, dots = lines["both: Young's curve"], lines["runs with kills"]
    for k, share in zip(curve.get_xdata(), curve.get_ydata(), strict=True):
        assert share == pytest.approx(100 * (0.01 / (k * 0.03) + k * 0.03 / 6))
    assert [*zip(dots.get_xdata(), dots.get_ydata(), strict=True)] == [(2, 20), (20, 15)]
    assert "best_every: k = 8, 8.2%" in lines


def test_small_shares_keep_two_digits() -> None:
    assert [young.percent(share) for share in (0.21, 0.034, 7.1e-6, 0.0, 1.5)] == [
        "21%",
        "3.4%",
        "0.00071%",
        "0%",
        "150%",
    ]


def test_steps_made_twice_are_counted_and_other_losses_are_told() -> None:
    after = UNDISTURBED[4:]
    drawn = twice_picture("Killed", UNDISTURBED, UNDISTURBED[:6], after, [4], 3)
    assert "ends after step 6, the next begins with step 5: 2 steps made twice" in drawn.alt
    assert "losses are the same as in the undisturbed run. Your guess: 3 made twice." in drawn.alt
    [guess] = [line for line in drawn.axes[0].lines if line.get_label() == "your guess: 3"]
    assert list(guess.get_xdata()) == [3.5, 6.5]
    other = twice_picture("Killed", UNDISTURBED, UNDISTURBED[:6], [(step, loss + 0.25) for step, loss in after])
    assert "up to 0.25 from the undisturbed run" in other.alt
    assert "guess" not in other.alt


def test_the_film_of_a_dead_rank_loses_what_is_not_saved_and_makes_it_again() -> None:
    frames = node_film(2, 20, 23).frames
    captions = [frame.caption for frame in frames]
    assert [words for words in captions if "second time" in words] == [
        f"Step {step}, for the second time." for step in (21, 22, 23)
    ]
    [gone] = [frame.picture for frame in frames if "Rank 2 is gone" in frame.caption]
    assert "rank 2 on node B is gone" in gone
    assert gone.count(" waits") == 3
    assert "rank 0 on node C works" in frames[-1].picture
    assert "rank 3 on node B is gone" in half_gone().alt


@pytest.mark.parametrize("rank, back, last", [(4, 20, 23), (2, 0, 3), (2, 20, 20), (2, 20, 27)])
def test_a_film_of_a_run_that_cannot_be_is_refused(rank: int, back: int, last: int) -> None:
    with pytest.raises(ValueError, match="No film of rank"):
        node_film(rank, back, last)


@pytest.mark.parametrize(
    "seconds, words", [(0.0123, "12.3 ms"), (1, "1 s"), (30, "30 s"), (90, "1.5 min"), (14_400, "4 h"), (0, "0 ms")]
)
def test_a_time_is_told_in_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert young.seconds_in_words(seconds) == words


def test_a_rank_reads_the_rows_of_its_shard_from_the_files_that_have_them() -> None:
    picture = reshard_picture([1024, 1024], [683, 683, 682])
    assert picture.alt == (
        "A weight saved by 2 ranks and loaded by 3. Rank 0 reads 683 rows of rank 0's file. Rank 1 reads 341 rows of "
        "rank 0's file and 342 rows of rank 1's file. Rank 2 reads 682 rows of rank 1's file."
    )
    assert picture.markup.count("<rect") == 2 + 4 + 3  # files, pieces, and a frame for each rank


def test_a_rank_without_rows_reads_nothing() -> None:
    assert reshard_picture([2], [1, 1, 0]).alt.endswith("Rank 2 reads nothing.")


def test_as_many_rows_are_loaded_as_were_saved() -> None:
    with pytest.raises(ValueError, match="4 rows were saved, and 3 loaded"):
        reshard_picture([2, 2], [1, 2])
    with pytest.raises(ValueError, match="not 9"):
        reshard_picture([1] * 9, [9])
