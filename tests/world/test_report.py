"""What a report says: ranks that did the very same share a line, and others do not."""

from __future__ import annotations

import linecache

import pytest

from course.world.meeting import MEETING
from course.world.report import Outcome, RankReport, judge_state, label_ranks


def raised(rank: int, message: str, line: int = 4) -> RankReport:
    """A rank that raised ValueError."""
    error = {"type": "ValueError", "message": message, "line": line, "source": "x[9]", "traceback": ""}
    return RankReport(rank, rank, "raised", error=error, line=line, source="x[9]")


def test_ranks_that_raised_the_same_at_the_same_place_share_a_line():
    outcome = Outcome("raised", [raised(rank, "too long") for rank in range(4)], 0.1)
    assert outcome.report == "ranks 0-3  raised ValueError: too long, cell line 4:  x[9]"
    assert outcome.detail == "ranks 0, 1, 2 and 3 raised ValueError: too long, cell line 4."


def test_ranks_that_did_something_else_stay_apart():
    ranks = [raised(0, "a"), raised(1, "b"), raised(2, "a"), raised(3, "a", line=5)]
    assert Outcome("raised", ranks, 0.1).report.splitlines() == [
        "ranks 0, 2  raised ValueError: a, cell line 4:  x[9]",
        "rank 1  raised ValueError: b, cell line 4:  x[9]",
        "rank 3  raised ValueError: a, cell line 5:  x[9]",
    ]


def test_a_line_of_a_notebooks_cell_whose_text_is_not_on_the_rank_is_quoted(monkeypatch):
    cell, stub = "/tmp/ipykernel_12/345.py", "    raise NotImplementedError()\n"
    monkeypatch.setitem(linecache.cache, cell, (9, None, ["def f():\n", stub], cell))
    where = f'Traceback:\n  File "{cell}", line 2, in f\n  File "/torch/nn.py", line 2, in g\nNotImplementedError\n'
    error = {"type": "NotImplementedError", "message": "", "line": 2, "source": None, "traceback": where}
    report = RankReport(0, 0, "returned")
    report.fail(error)
    assert report.sentence() == "raised NotImplementedError, cell line 2:  raise NotImplementedError()"
    assert judge_state([report]) == "not-done"


def test_several_ranks_are_named_in_the_plural():
    waiting = [RankReport(rank, rank, "waiting", call="comm.allreduce", line=2) for rank in (1, 2, 3)]
    outcome = Outcome("hang", [RankReport(0, 0, "returned"), *waiting], 3.0)
    assert outcome.report.splitlines() == [
        "rank 0  returned without communicating",
        "ranks 1-3  wait in comm.allreduce, cell line 2",
    ]


def test_who_has_returned_waits_for_ranks_that_are_named():
    done = [RankReport(rank, rank, "waiting", call=MEETING) for rank in (1, 2, 3)]
    outcome = Outcome("hang", [RankReport(0, 0, "waiting", call="comm.recv", line=2), *done], 3.0)
    assert outcome.report.splitlines()[1] == "ranks 1-3  returned without communicating, and wait for rank 0"
    assert "ranks 1, 2 and 3 returned without communicating, and wait for rank 0." in outcome.detail


@pytest.mark.parametrize(
    ("ranks", "label"),
    [([5], "rank 5"), ([0, 1], "ranks 0, 1"), ([0, 1, 2, 5, 7, 8, 9], "ranks 0-2, 5, 7-9"), ([0, 2], "ranks 0, 2")],
)
def test_the_ranks_of_a_line_are_named_in_short(ranks, label):
    assert label_ranks(ranks) == label
