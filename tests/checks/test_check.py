"""The contract of a check: how evidence is gathered and judged, that missing evidence never passes, what is shown."""

from __future__ import annotations

import json

import pytest
import torch

from autograde.cells.subject import NOTE
from autograde.contract import show
from autograde.contract.check import Check, draw_cases, gather, judge, plain, remarks_on
from autograde.contract.result import Finding, Result, Row, cut
from autograde.contract.trouble import MESSAGES, STOPPING, stops, trouble


class Doubles(Check):
    """Asks for twice the number; the evidence is the answer, or a state."""

    todo = "double"
    points = 2
    consolidation = "Twice <x> is `x + x`."

    def cases(self, rng):
        return [{"n": rng.randrange(100)} for _ in range(3)]

    def probe(self, world, subject, case):
        return world(subject(case["n"]))

    def grade(self, cases, gathered, seed=None):
        twice, positive = Row("twice", "it is twice the number", 1.5, "holds"), Row("sign", "its sign", 0.5, "holds")
        for case, evidence in zip(cases, gathered, strict=False):
            if isinstance(evidence, dict):
                return self.without_evidence(evidence["state"], "It hangs.", seed)
            if evidence != 2 * case["n"]:
                found = Finding("not-double", f"{evidence} is not <twice> {case['n']} & more.", "rank 0  returned")
                twice = Row("twice", twice.says, 1.5, "fails", found)
            if evidence < 0:
                positive = Row("sign", positive.says, 0.5, "unjudged", None, "it may follow")
        rows = [twice, positive]
        findings, score = [row.finding for row in rows if row.finding], sum(row.score for row in rows)
        learnt = "" if findings else self.consolidation
        return Result(self.todo, self.points, score, findings, rows, seed, learnt, remarks_on(gathered))

    def without_evidence(self, key, message, seed=None):
        row = Row("twice", "it is twice the number", 2, "unjudged")
        return Result(self.todo, self.points, 0.0, [Finding(key, message)], [row], seed)


def identity(value):
    """Stands for the ranks."""
    return value


def result(subject):
    """The result of the check for a subject."""
    check = Doubles()
    cases = draw_cases(check, seed=1)
    return judge(check, cases, gather(check, identity, subject, cases))


def test_right_evidence_earns_all_points():
    assert result(lambda n: 2 * n).score == 2
    assert result(lambda n: 2 * n).passed
    assert result(lambda n: 2 * n + 1).score == 0.5


def test_after_a_hang_the_other_cases_are_not_tried():
    tried = []

    def hangs(n):
        tried.append(n)
        return {"state": "hang"}

    assert result(hangs).score == 0
    assert len(tried) == 1


def test_missing_evidence_never_passes():
    check = Doubles()
    cases = draw_cases(check, seed=1)
    with pytest.raises(ValueError, match="3 cases, but evidence for 0"):
        judge(check, cases, [])
    with pytest.raises(ValueError, match="3 cases, but evidence for 2"):
        judge(check, cases, [2 * cases[0]["n"], 2 * cases[1]["n"]])
    with pytest.raises(ValueError, match="3 cases, but evidence for 4"):
        judge(check, cases, [0, 0, 0, 0])


def test_evidence_may_end_early_only_where_the_last_of_it_is_found_wrong():
    class Blind(Doubles):
        def grade(self, cases, gathered, seed=None):
            return Result("double", 2, 2.0, [], [])

    check = Doubles()
    cases = draw_cases(check, seed=1)
    assert judge(check, cases, [{"state": "hang"}]).score == 0
    with pytest.raises(ValueError, match="3 cases, but evidence for 1"):
        judge(Blind(), cases, [{"state": "hang"}])


@pytest.mark.parametrize(
    ("evidence", "stop"),
    [
        ({"state": "hang", "ranks": []}, True),
        ([{"a": {"state": "not-done"}}], True),
        ({"state": "raised", "ranks": [{"state": "raised"}, {"state": "waiting"}]}, True),
        ({"state": "raised", "ranks": [{"state": "raised"}]}, False),
        ({"state": "ok", "ranks": [{"state": "returned", "result": {"state": "hang"}}]}, False),
        ({"state": "ok", "ranks": [{"events": [{"peer": {"state": "too-slow"}}]}]}, False),
        ({"state": ["hang"], "ranks": [1]}, False),
        ("hang", False),
    ],
)
def test_only_what_a_run_came_to_ends_the_cases_and_no_data_of_a_student(evidence, stop):
    assert stops(evidence) is stop


def test_cases_follow_from_the_seed_and_differ_with_it():
    assert draw_cases(Doubles(), 5) == draw_cases(Doubles(), 5) != draw_cases(Doubles(), 6)


def test_cases_are_drawn_and_judged_with_one_thread_which_is_given_back():
    seen = []

    class Counts(Doubles):
        def cases(self, rng):
            seen.append(torch.get_num_threads())
            return []

        def grade(self, cases, gathered, seed=None):
            seen.append(torch.get_num_threads())
            raise ZeroDivisionError

    torch.set_num_threads(3)
    draw_cases(Counts(), 1)
    with pytest.raises(ZeroDivisionError):
        judge(Counts(), [{}], [0])
    assert seen == [1, 1] and torch.get_num_threads() == 3


def test_only_plain_data_is_evidence():
    assert plain({"a": (1, 2.5, None)}) == {"a": [1, 2.5, None]}
    with pytest.raises(TypeError):
        plain({"a": object()})


def test_numbers_that_are_not_finite_or_nearly_so_arrive_as_none_everywhere():
    nan, inf = float("nan"), float("inf")
    assert plain({"a": [nan, inf, -inf], "b": {"c": nan}, "d": [[1.5, -2e300, 10**400]]}) == {
        "a": [None, None, None],
        "b": {"c": None},
        "d": [[1.5, None, None]],
    }
    assert plain([1e300, 10**299, -0.0, True, "NaN"]) == [1e300, 10**299, 0, True, "NaN"]


def test_a_result_survives_json():
    found = result(lambda n: -1)
    assert Result.from_plain(json.loads(json.dumps(found.plain()))) == found


def outcome(state: str, detail: str = "", error: dict | None = None) -> dict:
    """A run as probes get it."""
    return {"state": state, "detail": detail, "report": "rank 0  did", "ranks": [{"rank": 0, "error": error}]}


def test_a_run_that_did_not_end_says_why():
    assert trouble(outcome("ok")) is None
    hang = trouble(outcome("hang", "ranks 1 and 2 wait in comm.allreduce."))
    assert (hang.key, hang.report) == ("hang", "rank 0  did")
    assert hang.message == "A deadlock: ranks 1 and 2 wait in comm.allreduce."
    name = trouble(outcome("raised", "rank 0 raised NameError: x.", {"type": "NameError"}))
    assert "Only this cell is handed in" in name.message


@pytest.mark.parametrize(
    ("key", "state", "text"),
    [
        ("file-limit", "raised", "rank 0 raised OSError: [Errno 27] File too large, cell line 3."),
        ("file-limit", "cell-fails", "OSError: [Errno 28] No space left on device (cell line 1)"),
        ("memory-limit", "raised", "rank 1 raised MemoryError, cell line 3."),
        ("memory-limit", "raised", "rank 1 raised _ArrayMemoryError: Unable to allocate 7 TiB for an array."),
        (
            "memory-limit",
            "raised",
            "rank 1 raised RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried.",
        ),
        ("process-limit", "raised", "rank 0 raised BlockingIOError: [Errno 11] Resource temporarily unavailable."),
        ("process-limit", "raised", "rank 0 raised RuntimeError: can't start new thread."),
        ("output-limit", "too-much-output", "A rank printed too much."),
        ("output-limit", "raised", "TooMuchOutput: A rank printed too much. (cell line 2)"),
        ("raised", "raised", "rank 0 raised ValueError: 12."),
        ("cell-fails", "cell-fails", "ValueError: 12."),
        ("hang", "hang", "ranks 0 and 1 wait in comm.allreduce."),
        ("rank-died", "rank-died", "rank 0 died: MemoryError."),
    ],
)
def test_a_limit_that_was_met_has_a_finding_of_its_own(key, state, text):
    found = trouble(outcome(state, text))
    assert found.key == key
    assert text in found.message
    assert bool(found.report) == (state in ("raised", "hang", "rank-died"))
    assert {*STOPPING, "raised", "bad-result"} <= set(MESSAGES)


def test_a_long_text_of_a_students_is_cut_in_its_middle():
    assert len(cut("a" * 10**6 + "end")) < 5000 and cut("a" * 10**6 + "end").endswith("end")
    assert cut("short") == "short"


def test_a_result_reads_well_as_text_and_is_escaped_as_html():
    found = result(lambda n: -1)
    assert show.text(found).splitlines()[0] == "double: not yet, 0 of 2 points"
    assert "[not-double]" in show.text(found)
    html = show.html(found)
    assert "-1 is not &lt;twice&gt; " in html and "&amp; more" in html
    assert 'aria-label="Result of the check of double"' in html


def test_who_has_passed_reads_what_there_was_to_learn_and_nobody_else_does():
    passed, partly = result(lambda n: 2 * n), result(lambda n: -1)
    assert show.text(passed).splitlines()[0] == "double: passed, 2 of 2 points"
    assert show.text(passed).splitlines()[-1] == "Twice <x> is `x + x`."
    assert "Twice &lt;x&gt; is <code>x + x</code>." in show.html(passed)
    assert (passed.consolidation, partly.consolidation) == ("Twice <x> is `x + x`.", "")
    assert "Twice" not in show.html(partly) + show.text(partly)


def test_what_ranks_note_stands_below_a_result_also_of_who_has_passed():
    evidence = {"state": "ok", "ranks": [{"stdout": f"{NOTE}Line <4> fails.\n{NOTE}b\n{NOTE}c\n{NOTE}d\n"}]}
    remarks = remarks_on([evidence])
    assert remarks == ["Line <4> fails.", "b", "c"]
    for findings in ([], [Finding("not-double", "No.")]):
        noted = Result("double", 2, 2.0, findings, [], remarks=remarks)
        assert "\nLine <4> fails.\nb\nc" in show.text(noted)
        assert "Line &lt;4&gt; fails." in show.html(noted)


def test_a_todo_that_is_not_started_is_grey_and_calm():
    row = Row("twice", "it is twice the number", 2, "unjudged")
    undone = Result("double", 2, 0.0, [trouble(outcome("not-done", "rank 0 raised NotImplementedError."))], [row])
    assert undone.findings[0].message == MESSAGES["not-done"]
    assert not undone.started and not undone.passed
    assert show.text(undone).splitlines() == [
        "double: not started, 2 points",
        "  ○ 2    it is twice the number",
        undone.findings[0].message,
    ]
    html = show.html(undone)
    assert f"4px solid {show.NEUTRAL}" in html and '<span aria-hidden="true">○</span> double: not started' in html
    assert show.FAILED not in html and "not-done" not in html
    assert "<code>raise NotImplementedError()</code> is still in the cell" in html


def test_the_next_step_stands_below_a_result():
    for found in (result(lambda n: -1), Result("double", 2, 0.0, [trouble(outcome("not-done"))], [])):
        assert show.text(found, "Try `this`.").splitlines()[-1] == "Try `this`."
        assert show.html(found, "Try `this`.").endswith(">Try <code>this</code>.</div></div>")
