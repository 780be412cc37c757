"""The row on the record of a batch run: it counts until the grader judges it, and is a row like others then."""

from __future__ import annotations

import pytest

from autograde.contract import show
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence
from autograde.contract.result import LATER, Result
from autograde.rubric import CallCheck, Criterion, RecordCriterion, Words
from autograde.sandbox.examine import Marked
from autograde.slurm import record_policy
from autograde.slurm.record_policy import Policy, RecordResult, with_record
from autograde.slurm.record_verdict import RecordFile

words = Words("not-one: {actual} is not 1.")


class Seen(Evidence):
    """A number."""

    value: int


def is_one(call):
    """Judge."""
    return None if call.seen[0].value == 1 else words("not-one", actual=call.seen[0].value)


CHECK = CallCheck.of(
    "one",
    CallProbe(Seen, lambda *_: None),
    lambda rng: [{"calls": [{}]}],
    Criterion("one", 2, "it is 1", is_one),
    RecordCriterion(points=1, ranks=2, says="`run.json` is handed in"),
    consolidation="One is one.",
    repeats=False,
)


def graded(value: int, state: str = "ok") -> Result:
    """The result for this number, as a notebook has it."""
    calls = [{"seen": {"value": value}, "changed": [], "tried": []}]
    rank = {"rank": 0, "result": {"calls": calls, "overwritten": []} if state == "ok" else None, "error": None}
    rank |= {"state": "returned", "events": [], "full": False, "unseen": False, "stdout": ""}
    outcome = {"state": state, "detail": "rank 0 waits", "report": "rank 0 waits", "ranks": [rank]}
    return CHECK.grade(CHECK.drawn_cases(1), [outcome])


def settled(setting: bool | None = True) -> tuple[Result, RecordResult]:
    """The same, with what the grader says of a submission without a record."""
    marked = Marked("one", 3, graded(1))
    marked, judged = with_record(CHECK, marked, "14_one", RecordFile(), {}, "ana", Policy(setting))
    return marked.result, judged


def states(result: Result) -> list[str]:
    """The state of each row."""
    return [row.state for row in result.rows]


def test_until_it_is_judged_it_counts_and_says_that_it_is_not():
    result = graded(1)
    assert (result.score, result.points, result.passed) == (3, 3, True)
    assert states(result) == ["holds", LATER]
    assert "judged later: when the lab is graded" in show.text(result)
    assert "judged later, 1 point" in show.html(result)


@pytest.mark.parametrize("state", ["ok", "hang"])
def test_where_no_other_row_holds_it_gives_nothing(state):
    result = graded(2, state)
    assert result.score == 0
    assert states(result)[1] == "unjudged"


def test_without_the_record_that_is_asked_for_its_row_fails():
    result, judged = settled()
    assert (judged.finding.key, result.score, states(result)) == ("no-record", 2, ["holds", "fails"])
    assert result.rows[1].finding == judged.finding
    assert show.text(result).count(judged.finding.message) == 1


def test_where_no_record_is_asked_for_it_counts():
    result, judged = settled(setting=False)
    assert (judged.finding, result.score, states(result)) == (None, 3, ["holds", LATER])
    assert "here none is" in result.rows[1].reason


def test_a_record_that_is_right_makes_it_hold(monkeypatch):
    monkeypatch.setattr(record_policy, "judge_record", lambda *_: RecordResult(job="cluster/7"))
    result, _ = settled()
    assert (result.score, states(result), result.rows[1].reason) == (3, ["holds", "holds"], "")
