"""What is drawn for a check: cases in short and in full, a call for each criterion, and sends that wait."""

from __future__ import annotations

import random

import pytest

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence
from autograde.rubric import CallCheck, Criterion, DeviceCriterion, Errors, Run, given, lacking, unbuffered


class Seen(Evidence):
    value: int


PROBE = CallProbe(Seen, lambda *_: None)


def holds(call):
    return None


def check(cases, *criteria, **more) -> CallCheck:
    return CallCheck.of("total", PROBE, lambda rng: cases, *criteria, **more)


ROW = Criterion("row", 1, "it holds", holds)


def test_a_case_in_short_gets_seeds_a_late_rank_and_its_first_call_once_more():
    one, other = check([(3, {"x": 1}, {"x": 2, "seed": 5}), ([2, 0], {"x": 3})], ROW).drawn_cases(1)
    assert (one["size"], [call["x"] for call in one["calls"]]) == (3, [1, 2, 1])
    assert one["calls"][1]["seed"] == 5 and one["late"] in range(3)
    assert one["calls"][0]["seed"] != one["calls"][2]["seed"]
    assert other["ranks"] == [2, 0] and other["late"] in range(2)
    [alone] = check([(1, {"x": 1})], ROW, repeats=False).drawn_cases(1)
    assert "late" not in alone and len(alone["calls"]) == 1


def test_a_criterion_that_looks_at_no_call_is_an_error():
    rows = [Criterion(name, 1, name, holds, on=on("sync")) for name, on in (("sync", given), ("no-sync", lacking))]
    check([(1, {"sync": True}, {"sync": False})], *rows).drawn_cases(1)
    with pytest.raises(ValueError, match="total: no call is drawn at which the criterion 'no-sync' looks"):
        check([(1, {"sync": True})], *rows).drawn_cases(1)
    with pytest.raises(ValueError, match="criterion 'device'"):
        check([(1, {"sync": True})], rows[0], DeviceCriterion(1, "on a GPU, too")).drawn_cases(1)
    check([(1, {"sync": True})], rows[0], DeviceCriterion(1, "too"), gpu_case=lambda rng: {"calls": [{}]}).drawn_cases(
        1
    )


def test_an_argument_that_words_would_take_for_something_else_is_an_error():
    with pytest.raises(ValueError, match="an argument of a call cannot be called rank, who"):
        check([(1, {"rank": 1, "who": 2, "x": 3})], ROW).drawn_cases(1)


def test_calls_whose_sends_wait_are_looked_at_by_the_criterion_on_that_alone():
    safe = unbuffered(0.5, of=ROW)
    kept, wait = {"x": 1}, {"x": 1, "sends_wait": True}
    assert [ROW.looks_at(each) for each in (kept, wait)] == [True, False]
    assert [safe.looks_at(each) for each in (kept, wait)] == [False, True]
    both = Criterion("both", 1, "always", holds, sends="both")
    assert both.looks_at(kept) and both.looks_at(wait)


def test_a_check_has_nothing_that_no_check_reads():
    with pytest.raises(TypeError, match="unexpected keyword argument 'consolidaton'"):
        check([(1, {})], ROW, consolidaton="lost")


def test_errors_of_a_todo_have_words_of_their_own():
    errors = Errors("does-not-fit: An error on {who} with n={n} ({error}).", does_not_fit="core dimension")
    error = {
        "type": "ValueError",
        "message": "matmul: core dimension 3 and 4",
        "line": 1,
        "source": "",
        "traceback": "",
    }
    ranks = [{"rank": rank, "error": error if rank else None, "events": []} for rank in range(2)]
    run = Run({"size": 2, "calls": [{"n": 7}]}, {"state": "raised", "report": "r", "ranks": ranks}, Seen)
    wrong = errors(run)
    assert (wrong.key, wrong.report) == ("does-not-fit", "r")
    assert wrong.message == "An error on rank 1 with n=7 (ValueError: matmul: core dimension 3 and 4)."
    with pytest.raises(ValueError, match="one only: lost"):
        Errors("lost: It is lost.")


def test_cases_are_the_same_for_a_seed():
    drawn = check([(2, {"x": random.Random(3).random()})], ROW)
    assert drawn.drawn_cases(4) == drawn.drawn_cases(4) != drawn.drawn_cases(5)
