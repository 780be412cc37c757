"""What the report on a class counts and compares: deadlocks, answers much alike, scores in steps, lateness."""

from __future__ import annotations

import pytest
from reported_class import LONG

from autograde.classroom.grades import Row
from autograde.classroom.reports.class_report import heat_map, histogram, stopped
from autograde.classroom.reports.students import Student
from autograde.classroom.submissions import similarity
from autograde.contract.result import Finding, Result
from autograde.sandbox.examine import Marked


def test_a_deadlock_that_a_lab_calls_by_another_name_is_among_the_hangs():
    found = [
        Finding("call-missing", "A deadlock.", "rank 0  waits in comm.allreduce, cell line 2\nrank 1  returned"),
        Finding("wrong-value", "Not right.", "rank 0  returned after comm.allreduce"),
    ]
    marked = {"total": Marked("total", 3, Result("total", 3, 0.0, found, []))}
    student = Student(Row("carl", "graded"), marked, None, None)
    assert [finding.key for _, _, finding in stopped([student], ["total"])] == ["call-missing"]


def test_that_a_todo_was_left_is_no_misconception():
    left = Finding("not-done", "It is as it was released.")
    marked = {"total": Marked("total", 3, Result("total", 3, 0.0, [left], []))}
    assert heat_map([Student(Row("carl", "graded"), marked, None, None)], ["total"]) == []


def test_only_what_a_student_wrote_is_compared():
    given = 'def double(x):\n    """Twice x."""\n    raise NotImplementedError'
    source = 'def double(x):\n    """Twice x."""\n    # my way\n    y = (x +\n        x)\n    return y'
    assert similarity.own_tokens(source, given) == ["y", "=", "(", "x", "+", "x", ")", "return", "y"]
    assert similarity.own_tokens("y = 1\n  z = 2\n z = '''", "") == ["y", "=", "1", "z", "=", "2"]
    assert len(similarity.own_tokens("x + 1\n" * 5000, "")) == similarity.MOST


def test_short_answers_and_answers_that_most_have_are_left_out():
    given = {"double": "def double(x):", "total": ""}
    long = {name: LONG.replace("part", name) for name in "abcdefgh"}
    different = {name: {"double": text, "total": "x = 1"} for name, text in long.items()}
    assert similarity.groups(different, given) == []
    pair = {**different, "i": {"double": long["c"], "total": long["a"]}, "j": {"total": long["a"]}}
    assert similarity.groups(pair, given) == [
        similarity.Group(("c", "i"), {"double": 1.0}), similarity.Group(("i", "j"), {"total": 1.0}),
    ]  # fmt: skip
    both = {**different, "i": {"double": long["c"], "total": LONG}, "c": {"double": long["c"], "total": LONG}}
    assert similarity.groups(both, given) == [similarity.Group(("c", "i"), {"double": 1.0, "total": 1.0})]
    everybody = {name: {"double": LONG} for name in "abcdefgh"}
    assert similarity.groups(everybody, given) == []


@pytest.mark.parametrize(
    ("most", "edges"),
    [
        (5, [0, 0.5, 4.5, 5]),
        (12, [0, 1, 11, 12]),
        (100, [0, 10, 90, 100]),
        (9.5, [0, 1, 9, 10]),
        (0.5, [0, 0.1, 0.4, 0.5]),
    ],
)
def test_a_histogram_counts_each_score_once_in_round_steps(most, edges):
    bars = histogram([0, -1, most, most + 1, most / 2], most)
    assert [bars[0].low, bars[0].high, bars[-1].low, bars[-1].high] == pytest.approx(edges)
    assert (bars[0].count, bars[-1].count, sum(bar.count for bar in bars)) == (2, 2, 5)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, ""), (1, "1 s"), (3600, "1 h"), (90061, "1 d 1 h"), (86400 * 40, "40 d")]
)
def test_lateness_is_told_in_the_two_largest_units(seconds, said):
    row = Row("ada", "graded", seconds_late=seconds)
    assert Student(row, {}, None, None).late == said
