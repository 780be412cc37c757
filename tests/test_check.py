"""The contract of a check: what costs what, and that missing evidence never passes."""

from __future__ import annotations

import json

import pytest

from autograde import show
from autograde.check import Check, Finding, Result, draw_cases, gather, judge, plain, trouble


class Doubles(Check):
    """Asks for twice the number; the evidence is the answer, or a state."""

    todo = "double"
    points = 2

    def cases(self, rng):
        return [{"n": rng.randrange(100)} for _ in range(3)]

    def probe(self, world, subject, case):
        return world(subject(case["n"]))

    def schema(self, case):
        return {"type": ["integer", "object"]}

    def verdict(self, case, evidence):
        if isinstance(evidence, dict):
            return [Finding(evidence["state"], "It hangs.", self.points, "rank 0  waits")]
        found = []
        if evidence != 2 * case["n"]:
            found.append(Finding("not-double", f"{evidence} is not twice {case['n']}.", 0.5))
        if evidence < 0:
            found.append(Finding("negative", "A double <of> this & that is not negative.", 1))
        return found


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


def test_each_kind_of_finding_costs_once_however_often_it_is_found():
    assert result(lambda n: 2 * n + 1).score == 1.5
    assert result(lambda n: -1).score == 0.5
    assert [finding.key for finding in result(lambda n: -1).findings] == ["not-double", "negative"]


def test_the_dearest_occurrence_counts_and_a_score_is_never_negative():
    class Dear(Doubles):
        def verdict(self, case, evidence):
            return [Finding("same", "m", case["cost"])]

    check = Dear()
    assert judge(check, [{"cost": 0.5}, {"cost": 1.5}], [0, 0]).score == 0.5
    assert judge(check, [{"cost": 7}], [0]).score == 0


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


def test_cases_follow_from_the_seed_and_differ_with_it():
    assert draw_cases(Doubles(), 5) == draw_cases(Doubles(), 5) != draw_cases(Doubles(), 6)


def test_only_plain_data_is_evidence():
    assert plain({"a": (1, 2.5, None)}) == {"a": [1, 2.5, None]}
    with pytest.raises(TypeError):
        plain({"a": object()})


def test_a_result_survives_json():
    found = result(lambda n: -1)
    assert Result.from_plain(json.loads(json.dumps(found.plain()))) == found


def outcome(state: str, detail: str = "", error: dict | None = None) -> dict:
    """A run as probes get it."""
    return {"state": state, "detail": detail, "report": "rank 0  did", "ranks": [{"rank": 0, "error": error}]}


def test_a_run_that_did_not_end_costs_all_points_and_says_why():
    assert trouble(outcome("ok"), 3) == []
    (hang,) = trouble(outcome("hang", "ranks 1 and 2 wait in comm.allreduce."), 3)
    assert (hang.key, hang.points, hang.report) == ("hang", 3, "rank 0  did")
    assert hang.message == "A deadlock: ranks 1 and 2 wait in comm.allreduce."
    (name,) = trouble(outcome("raised", "rank 0 raised NameError: x.", {"type": "NameError"}), 3)
    assert "Only this cell is handed in" in name.message


def test_a_result_reads_well_as_text_and_is_escaped_as_html():
    found = result(lambda n: -1)
    assert show.text(found).splitlines()[0] == "double: not yet, 0.5 of 2 points"
    assert "[negative, -1]" in show.text(found)
    html = show.html(found)
    assert "A double &lt;of&gt; this &amp; that" in html
    assert 'aria-label="Result of the check of double"' in html
    assert show.text(result(lambda n: 2 * n)) == "double: passed, 2 of 2 points"
