"""What a run that broke off is told to be: what differs between the ranks, from their record."""

from __future__ import annotations

from made_events import event

from autograde.contract.evidence import Evidence
from autograde.rubric import Errors, Run, why_it_broke_off
from course.watch.differences.conditions import ASK
from course.world.meeting import MEETING, is_meeting


class Seen(Evidence):
    value: int


def rank(number: int, state: str, *events: dict, error: dict | None = None, call: str | None = None) -> dict:
    about = {"rank": number, "state": state, "call": call, "events": [*events], "error": error}
    return {**about, "full": False, "unseen": False}


def run(state: str, *ranks: dict, report: str = "rank 0 waits\n\nWhat differs.") -> Run:
    outcome = {"state": state, "detail": "rank 0 waits", "report": report, "ranks": [*ranks]}
    return Run({"size": len(ranks), "calls": [{"n": 7}]}, outcome, Seen)


def test_a_deadlock_is_told_by_what_differs_and_the_report_does_not_say_it_twice():
    waits = event(op="allreduce", end=None, line=4, state="under way")
    wrong = why_it_broke_off(run("hang", rank(0, "waiting", waits), rank(1, "returned")))
    assert (wrong.key, wrong.report) == ("call-missing", "rank 0 waits")
    assert wrong.message.startswith("A deadlock. Rank 1 never makes the call that rank 0 waits in, comm.allreduce")
    assert wrong.message.endswith("lets a rank pass it by?")


def test_a_rank_that_met_the_others_after_its_call_has_returned():
    waits = event(op="allreduce", end=None, line=4, state="under way")
    meeting = event("barrier", line=None, end=None)
    assert is_meeting(meeting)
    assert why_it_broke_off(run("hang", rank(0, "waiting", waits), rank(1, "waiting", meeting))).key == "call-missing"


def test_a_rank_that_waits_in_a_meeting_of_the_probe_has_returned():
    waits = event(op="allreduce", end=None, line=4, state="under way")
    broken = run("hang", rank(0, "waiting", waits), rank(1, "waiting", call=MEETING))
    assert why_it_broke_off(broken).key == "call-missing"


def test_the_line_that_decides_who_makes_a_call_is_taken_from_the_report():
    waits = event(op="allreduce", end=None, line=4, state="under way")
    ranks = rank(0, "waiting", waits), rank(1, "returned")
    told = why_it_broke_off(run("hang", *ranks)).message.removeprefix("A deadlock. ").removesuffix(ASK)
    line = f"{told} Cell line 3 (if rank == 0:) decides which ranks make the call."
    assert why_it_broke_off(run("hang", *ranks, report=f"rank 0 waits\n\n{line}")).message == f"A deadlock. {line}"


def test_an_error_of_one_rank_is_no_call_that_is_missing():
    error = {"type": "ValueError", "message": "of the student's", "line": 3}
    waits = event(op="allreduce", end=None, line=4, state="under way")
    ranks = rank(0, "waiting", waits), rank(1, "raised", error=error)
    assert why_it_broke_off(run("raised", *ranks)).key == "raised"


def test_a_message_to_no_rank_and_a_packed_one_are_told_by_their_errors():
    errors = ("Exception", "MPI_ERR_RANK", "no-such-rank"), ("UnpicklingError", "x", "pickle-for-buffer")
    for kind, message, key in errors:
        error = {"type": kind, "message": message, "line": 3}
        wrong = why_it_broke_off(run("raised", rank(0, "returned"), rank(1, "raised", error=error)))
        assert wrong.key == key and "rank 1" in wrong.message


def test_calls_of_horovod_that_do_not_find_each_other_have_names_of_their_own():
    about = {"library": "horovod", "op": "allreduce_", "end": None, "line": 4, "state": "under way", "reduction": "SUM"}
    one, other = (event("allreduce", name=name, **about) for name in ("one", "other"))
    wrong = why_it_broke_off(run("hang", rank(0, "waiting", one), rank(1, "waiting", other)))
    assert wrong.key == "name-differs" and 'rank 1 hvd.allreduce_ of "other"' in wrong.message
    assert why_it_broke_off(run("hang", rank(0, "waiting", one), rank(1, "returned"))).key != wrong.key


def test_errors_may_be_those_of_some_runs_alone():
    few = Errors("few: An error on {who}: {error}", on=lambda run: run.broken["n"] < 10, few="Index")
    many = Errors("many: An error on {who}.", on=lambda run: run.broken["n"] > 10, many="Index")
    error = {"type": "IndexError", "message": "x", "line": 3}
    broken = run("raised", rank(0, "returned"), rank(1, "raised", error=error))
    assert few(broken).message == "An error on rank 1: IndexError: x" and many(broken) is None


def test_a_call_that_fails_as_those_before_did_not_belong_together_is_told_by_them():
    about = {"library": "torch", "op": "broadcast", "peer": 0, "room": 8, "reduction": None}
    one, other = (event("broadcast", dtype=dtype, **about) for dtype in ("float64", "int64"))
    fails = one | {"failed": True}
    error = {"type": "RuntimeError", "message": "Connection reset by peer", "line": 3}
    ranks = rank(0, "raised", one, fails, error=error), rank(1, "died", other, other | {"end": None})
    assert why_it_broke_off(run("rank-died", *ranks)).key == "dtype-differs"
    ranks = rank(0, "raised", one, error=error), rank(1, "returned", other)
    assert why_it_broke_off(run("raised", *ranks)).key == "raised"


def test_who_waits_for_whom_is_not_said_where_calls_are_missing_in_the_record():
    waits = event(op="allreduce", end=None, line=4, state="under way")
    ranks = rank(0, "waiting", waits) | {"full": True}, rank(1, "returned")
    wrong = why_it_broke_off(run("hang", *ranks))
    assert (wrong.key, wrong.message) == ("hang", "A deadlock: rank 0 waits")
