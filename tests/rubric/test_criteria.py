"""How a rubric is graded: points by criteria, words by mistakes, and worse is never cheaper."""

from __future__ import annotations

import itertools
import random

import pytest
from made_events import event

from autograde.contract import show
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence
from autograde.contract.result import Result
from autograde.rubric.check import BROKE_OFF, CallCheck
from autograde.rubric.communication.reductions import one_allreduce
from autograde.rubric.criterion import Criterion, DeviceCriterion, unbuffered
from autograde.rubric.judge import Call, of_record, once
from autograde.rubric.mistakes import Gives, Mistakes, MistakeWarning, changed
from autograde.rubric.words import Words, Wrong
from course.watch.events import Event

words = Words("""
wrong-sum: Rank 0 returns {actual}, where {expected} is expected.

silent: No call is seen.

negative: {x} comes back negative.
""")


class Seen(Evidence):
    """A number."""

    value: int


class RightSum:
    """Judge of x + y."""

    def __call__(self, call: Call) -> Wrong | None:
        """The first rank's."""
        actual, expected = call.seen[0].value, call.arguments["x"] + call.arguments["y"]
        return None if actual == expected else words("wrong-sum", compared=True, actual=actual, expected=expected)

    def gives(self, call: Call, value: int) -> bool:
        """Whether this came out."""
        return call.seen[0].value == value


@of_record
def some_call(call: Call) -> Wrong | None:
    """Something was communicated."""
    return None if any(call.events) else words("silent", absent=True)


MISTAKES = Mistakes(
    """
    difference: You subtract {y} from {x}.

    first-only: You return {x}, the first of them.
    """,
    difference=lambda call: Gives(call.arguments["x"] - call.arguments["y"]),
    first_only=lambda call: Gives(call.arguments["x"]),
)


class Sum(CallCheck):
    """An example."""

    todo, probe = "total", CallProbe(Seen, lambda *_: None)
    criteria = (
        Criterion("sum", 2, "the sum comes back", RightSum(), MISTAKES),
        Criterion("calls", 1, "something is sent", some_call),
        Criterion("large", 1, "large numbers, too", RightSum(), on=lambda each: each["x"] > 99, after=("sum",)),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Small numbers, equal ones, large ones."""
        return [{"calls": [{"x": 3, "y": 2}, {"x": 2, "y": 0}]}, {"calls": [{"x": 100, "y": 1}]}]


@pytest.fixture(autouse=True)
def calls_alike(monkeypatch):
    """Each call has the same events: they are not cut where the ranks meet."""
    monkeypatch.setattr("autograde.rubric.run.calls_apart", lambda events: [events, events])


CHECK = Sum()
CASES = CHECK.drawn_cases(1)
EVENT = dict.fromkeys(Event.__annotations__) | {"kind": "allreduce", "op": "allreduce", "library": "mpi4py", "end": 1.0}


def outcome(values: list[int], state: str = "ok", events: int = 1, **rank: object) -> dict:
    """The evidence on a case: what rank 0 returned in each call."""
    calls = [{"seen": {"value": value}, "changed": [], "tried": []} for value in values]
    record = {"rank": 0, "result": {"calls": calls, "overwritten": []} if state == "ok" else None, "error": None}
    record |= {"state": "returned" if state == "ok" else "waiting", "call": None}
    record |= {"events": [EVENT] * events, "full": False, "unseen": False, "stdout": "", **rank}
    return {"state": state, "detail": "rank 0 waits", "report": "rank 0 waits in line 3", "ranks": [record]}


def graded(*gathered: dict) -> Result:
    """The result for evidence on the first cases."""
    return CHECK.grade(CASES, [*gathered])


def states(result: Result) -> dict[str, str]:
    """The state of each criterion."""
    return {row.name: row.state for row in result.rows}


def test_what_holds_in_each_call_gives_its_points():
    right = graded(outcome([5, 2]), outcome([101]))
    assert (right.score, right.points, right.passed) == (4, 4, True)
    wrong = graded(outcome([5, 2]), outcome([1]))
    assert states(wrong) == {"sum": "fails", "calls": "holds", "large": "unjudged"}
    assert wrong.rows[2].reason == "it may follow from: the sum comes back"
    assert (wrong.score, [each.key for each in wrong.findings]) == (1, ["wrong-sum"])


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (([1, 2], [99]), "difference"),
        (([3, 2], [100]), "first-only"),
        (([1, 2], [100]), "wrong-sum"),  # no mistake explains both
        (([5, 2], [99]), "wrong-sum"),  # whoever subtracts has 1 in the first call
    ],
)
def test_a_mistake_is_told_only_if_it_explains_all_that_can_tell_it_from_others(values, key):
    small, large = values
    assert graded(outcome(small), outcome(large)).findings[0].key == key


def test_a_run_that_breaks_off_is_told_above_the_criteria_and_what_was_not_seen_gives_no_points():
    result = graded(outcome([5, 2]), outcome([], state="hang"))
    assert states(result) == {"sum": "unjudged", "calls": "unjudged", "large": "unjudged"}
    assert {row.reason for row in result.rows} == {BROKE_OFF}
    assert (result.score, [each.key for each in result.findings]) == (0, ["hang"])
    assert "rank 0 waits" in result.findings[0].message


def test_a_hang_is_told_whatever_else_is_wrong():
    result = graded(outcome([5, 7], events=0), outcome([], state="hang"))
    assert states(result) == {"sum": "fails", "calls": "fails", "large": "unjudged"}
    hang, *_ = result.findings
    assert [each.key for each in result.findings] == ["hang", "wrong-sum", "silent"]
    assert hang.report == "rank 0 waits in line 3"
    shown = show.text(result).splitlines()
    assert shown[2:4] == ["* A deadlock: rank 0 waits  [hang]", "    rank 0 waits in line 3"]


def test_an_error_is_told_once_and_a_hang_after_it_too():
    error = {"type": "TypeError", "message": "of a kind", "line": 3, "source": "f()", "traceback": ""}
    raised = outcome([], state="raised", error=error)
    result = graded(raised, raised)
    assert [each.key for each in result.findings] == ["raised"]
    result = graded(raised, outcome([], state="hang"))
    assert [each.key for each in result.findings] == ["raised", "hang"]
    assert "[hang]" in show.text(result) and "[hang]" in show.html(result)


def test_words_name_the_first_call_that_they_explain(monkeypatch):
    monkeypatch.setattr(CHECK, "inputs", ("x", "y"), raising=False)
    result = graded(outcome([5, 7]), outcome([99]))
    assert result.findings[0].message == "Rank 0 returns 7, where 2 is expected. Seen with x=2, y=0."
    result = graded(outcome([5, 2]), outcome([], state="hang"))
    assert result.findings[0].message == "A deadlock: rank 0 waits Seen with x=100, y=1."


def test_what_is_not_recorded_is_neither_earned_nor_taken_for_a_mistake(monkeypatch):
    nothing = [outcome([5, 2], events=0), outcome([101], events=0)]
    assert states(graded(*nothing))["calls"] == "fails"
    result = graded(*(outcome(values, events=0, unseen=True) for values in ([5, 2], [101])))
    assert states(result) == {"sum": "holds", "calls": "unjudged", "large": "holds"}
    assert [each.key for each in result.findings] == ["not-in-the-record"]
    monkeypatch.setattr(
        "autograde.rubric.run.calls_apart", lambda events: [events, events][: 1 if len(events) > 1 else 2]
    )
    result = graded(outcome([5, 2]), outcome([101], events=2, full=True))
    assert states(result) == {"sum": "holds", "calls": "unjudged", "large": "holds"}
    assert [each.key for each in result.findings] == ["calls-beyond-the-record"]


@pytest.mark.parametrize("about", [{"record": "partly"}, {"unseen": True}])
def test_what_is_recorded_counts_where_that_is_not_all(about):
    judge = one_allreduce("mpi4py", lambda call: True)
    criterion = Criterion("one", 1, "one reduction", judge)

    def key(*logs: list[dict]) -> str | None:
        wrong = criterion.wrong([Call({}, 0, {}, [None] * len(logs), [*logs], **about)])
        return wrong and wrong.key

    assert key([], []) is None
    assert key(*[[event()] * 5] * 2) == "allreduce-in-the-loop"
    assert key(*[[event("reduce")]] * 2) == "reduce-not-allreduce"


def test_of_calls_behind_the_end_of_the_record_only_values_count():
    call = Call({}, 0, {"x": 3, "y": 2}, [Seen(6)], [[event()] * 5], record="none")
    assert Criterion("one", 1, "one reduction", one_allreduce("mpi4py", lambda call: True)).wrong([call]) is None
    assert Criterion("sum", 2, "the sum comes back", RightSum()).wrong([call]).key == "wrong-sum"


def test_a_further_mistake_never_gains_points(monkeypatch):
    """Whatever two runs show, the run that shows both has no more points than either."""
    monkeypatch.setattr("autograde.rubric.run.calls_apart", lambda events: [events, events])
    right = [outcome([5, 2]), outcome([101])]
    faults = [
        lambda runs: [outcome([1, 2]) if runs[0]["state"] == "ok" else runs[0], runs[1]],
        lambda runs: [runs[0], outcome([99]) if runs[1]["state"] == "ok" else runs[1]],
        lambda runs: [runs[0], outcome([], state="hang")],
        lambda runs: [outcome([], state="raised"), runs[1]],
        lambda runs: [{**run, "ranks": [{**run["ranks"][0], "events": []}]} for run in runs],
    ]
    for one, other in itertools.permutations(faults, 2):
        both = graded(*other(one(right))).score
        assert both <= min(graded(*one(right)).score, graded(*other(right)).score)


def test_an_argument_named_size_is_what_words_mean_and_not_the_number_of_ranks():
    mistakes = Mistakes("one: {size:rank}.", one=lambda call: True)
    call = Call({}, 0, {"size": 5}, [Seen(1)])
    assert mistakes.explaining([(call, words("silent"))], [], None).message == "5 ranks."


def test_what_is_made_of_a_call_is_worked_out_once():
    made = []
    doubled = once(lambda call: made.append(call.number) or 2 * call.number)
    one, other = Call({}, 1, {}, []), Call({}, 2, {}, [])
    assert [doubled(call) for call in (one, one, other, one)] == [2, 2, 4, 2]
    assert made == [1, 2]


def test_what_holds_is_asked_once_more_where_each_send_waits():
    value, called = Criterion("value", 1, "the sum", RightSum()), Criterion("called", 1, "a call", some_call)
    row, kept, waits = unbuffered(0.5, value, called), {"x": 1, "y": 1}, {"x": 1, "y": 1, "sends_wait": True}
    assert [each.looks_at(kept) for each in (value, called, row)] == [True, True, False]
    assert [each.looks_at(waits) for each in (value, called, row)] == [False, False, True]
    assert row.after == ("value", "called") and row.of_record and row.points == 0.5
    assert row.wrong([Call({}, 0, kept, [Seen(3)], [[]]), Call({}, 1, waits, [Seen(2)], [[event()]])]) is None
    assert row.wrong([Call({}, 0, waits, [Seen(3)], [[event()]])]).key == "wrong-sum"
    assert row.wrong([Call({}, 0, waits, [Seen(2)], [[]])]).key == "silent"


def test_what_was_complete_before_a_note_is_known():
    calls = [event(end=0.1), event(end=0.3), event(end=None)]
    notes = [calls[0], event("note", op="other", start=0.4), event("note", op="began", start=0.2), *calls[1:]]
    call = Call({}, 0, {}, [Seen(1)], [calls], [notes])
    assert call.before_note(0, "began") == calls[:1]
    assert call.before_note(0, "other") == calls[:2]
    assert call.before_note(0, "never") == []


def test_mistakes_have_words_and_a_sign_each():
    with pytest.raises(ValueError, match="one only: lost"):
        Mistakes("lost: It is lost.")
    with pytest.raises(ValueError, match="one only: lost, lots"):
        Mistakes("lost: It is lost.", changed(lots=lambda call: [1]))


def test_the_first_call_is_made_once_more_with_another_seed():
    class Repeating(Sum):
        def cases(self, rng: random.Random) -> list[dict]:
            return [{"calls": [{"x": 1, "y": 1, "seed": 7}, {"x": 200, "y": 2, "seed": 8}]}]

    [case] = Repeating().drawn_cases(1)
    first, _, last = case["calls"]
    assert {**last, "seed": 7} == first and last["seed"] != 7


def test_a_mistake_that_raises_an_error_is_left_out_and_warned_of():
    call = Call({}, 0, {"x": 3, "y": 2}, [Seen(1)])
    by_values = changed(lambda call, by: call.arguments["x"] / by, divided=[{"by": 0}])
    mistakes = Mistakes("divided: By {y}.\n\nother: Not {y}.", by_values, other=lambda call: call.arguments["z"])
    with pytest.warns(MistakeWarning) as warned:
        wrong = Criterion("sum", 2, "the sum comes back", RightSum(), mistakes).wrong([call])
    assert wrong.key == "wrong-sum"
    assert [str(each.message).partition("raised ")[2] for each in warned] == [
        "ZeroDivisionError: division by zero",
        "KeyError: 'z'",
    ]


@pytest.mark.parametrize(("total", "state", "score"), [(5, "holds", 3), (7, "unjudged", 0)])
def test_on_a_gpu_nothing_is_earned_where_no_call_shows_that_anything_is_right(total, state, score):
    check = CallCheck.of(
        "total",
        CallProbe(Seen, lambda *_: None),
        lambda rng: [{"calls": [{"x": 3, "y": 2}]}],
        Criterion("sum", 2, "the sum comes back", RightSum()),
        DeviceCriterion(1, "it works on a GPU"),
        gpu_case=lambda rng: {"calls": [{"x": 1, "y": 1}]},
    )
    result = check.grade(check.drawn_cases(1), [outcome([total]), outcome([2])])
    assert (states(result)["device"], result.score) == (state, score)
