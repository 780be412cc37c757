"""A rank's log has an end: what it may lack costs nothing, and what it has counts."""

from __future__ import annotations

from typing import Any

import pytest
from autograde.contract.rank_check import CallCheck
from autograde.verdicts.judged import Call, JudgedCalls, JudgedRun
from made_events import event

from autograde.contract.trouble import trouble
from autograde.contract.verdict import settle
from autograde.verdicts.collectives import one_allreduce
from autograde.verdicts.numbers import on_all
from autograde.verdicts.reductions import Due, carried

MEETING = event("barrier", line=None)


class Total(CallCheck, JudgedCalls):
    """A sum of 2.0 by one reduction."""

    todo, points = "total", 3

    def judge(self, case: dict, call: Call) -> list:
        """The values, the calls, and how the one came of the other."""
        seen = [*one_allreduce("mpi4py", call.events, True), *carried(call.events, [1.0, 3.0], due=Due(2.0))]
        return [*seen, *on_all(call.of("value"), 2.0)]


class Run(JudgedRun):
    """The same, of a run."""

    todo, points = "total", 3

    def judge_run(self, case: dict, results: list[Any], events: list[list[dict]]) -> list:
        """The calls."""
        return one_allreduce("mpi4py", events)


def evidence(
    logs: list[list[dict]], calls: int, full: tuple[bool, bool], value: float = 2.0, unseen: bool = False
) -> dict:
    """Of two ranks that returned `value` in each of some calls."""
    shown = {"shown": {"value": {"float": True, "type": "float", "value": value}}, "changed": []}
    about = {"state": "returned", "error": None, "result": {"calls": [shown] * calls, "tried": []}}
    ranks = [
        about | {"rank": rank, "events": log, "full": full[rank], "unseen": unseen} for rank, log in enumerate(logs)
    ]
    return {"state": "ok", "detail": "", "report": "", "ranks": ranks}


def told(check: Any, *about: Any, **more: Any) -> dict[str, float]:
    """What is found in one call, or in two, and what it costs."""
    made = evidence(*about, **more)
    found = check.verdict({"calls": [{}] * len(made["ranks"][0]["result"]["calls"])}, made)
    return {each.key: each.points for each in settle([found])}


@pytest.mark.parametrize("full", [(True, False), (False, True)])
def test_that_something_is_missing_is_not_said_where_the_record_has_an_end(full):
    assert told(Total(), [[], []], 1, (False, False)) == {"unseen-communication": 2}
    assert told(Total(), [[], []], 1, full) == {"calls-beyond-the-record": 0}
    assert told(Run(), [[], []], 1, (False, False)) == {"no-reduction": 3}
    assert told(Run(), [[], []], 1, full) == {"calls-beyond-the-record": 0}


def test_what_is_recorded_counts_and_so_does_what_comes_before():
    many = [[event()] * 5] * 2
    assert told(Total(), many, 1, (True, True)) == {"allreduce-in-the-loop": 1.5, "calls-beyond-the-record": 0}
    first = [[event(), event(), MEETING, event()]] * 2
    assert told(Total(), first, 2, (True, True)).keys() >= {"allreduce-in-the-loop", "same-on-every-rank"}


def test_of_calls_behind_the_end_of_the_record_only_values_count():
    assert told(Total(), [[event()]] * 2, 2, (True, True), value=2.5) == {
        "wrong-value": pytest.approx(1.5, abs=1.5),
        "calls-beyond-the-record": 0,
    }
    assert "other-communication" not in told(Total(), [[event(values=[1.0])], [event(values=[3.0])]], 2, (True, True))


def test_who_waits_for_whom_is_not_said_where_calls_are_missing():
    hang = evidence([[event(end=None, state="called")], []], 1, (True, False)) | {"state": "hang", "detail": "x"}
    for rank, state in zip(hang["ranks"], ("waiting", "returned"), strict=True):
        rank["state"] = state
    check = Total()
    found = check.verdict({"calls": [{}]}, hang)
    assert [each.key for each in found] == [each.key for each in trouble(hang, 3)] + ["calls-beyond-the-record"]


def test_that_nobody_communicates_is_not_said_where_there_is_more_than_what_is_recorded():
    assert told(Total(), [[], []], 1, (False, False), unseen=True) == {}
    assert told(Total(), [[event(values=[2.0])]] * 2, 1, (False, False), unseen=True) == {}
    assert told(Run(), [[], []], 1, (False, False), unseen=True) == {}
    many = told(Total(), [[event()] * 5] * 2, 1, (False, False), unseen=True)
    assert many == {"allreduce-in-the-loop": 1.5}, "what is recorded counts"
    wrong = told(Total(), [[], []], 1, (False, False), value=2.5, unseen=True)
    assert [*wrong] == ["wrong-value"], "and so do values"
