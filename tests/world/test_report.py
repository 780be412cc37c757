"""What a report says: ranks that did the very same share a line, and others do not."""

from __future__ import annotations

import linecache
import time
from typing import Any

import pytest

from course.watch.wording import label_ranks
from course.world import World
from course.world.meeting import MEETING
from course.world.rank_report import RankReport
from course.world.report import Outcome, judge_state


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


def test_a_rank_that_no_memory_was_left_for_says_so_and_stays_the_cause_where_its_host_ends_the_others():
    ranks = [RankReport(rank, rank, "waiting", call="comm.allreduce") for rank in (0, 1)]
    ranks[1].die(-9, "no memory was left of the 1.5 GiB that all in its container, job or session may have")
    for rank in ranks:
        rank.end_with_host("Slurm job 7 took more memory than it may")
    words = "no memory was left of the 1.5 GiB that all in its container, job or session may have (smaller arrays or"
    assert Outcome("rank-died", ranks, 0.1).detail == (
        f"rank 1 died: killed by SIGKILL, as {words} fewer ranks take less), in comm.allreduce; "
        "rank 0 died: Slurm job 7 took more memory than it may."
    )


COMPILING = """
  File "/lib/torch/_inductor/async_compile.py", line 9 in wait
  File "/lib/torch/_inductor/compile_fx.py", line 9 in compile_fx_inner
  File "/lib/torch/_dynamo/convert_frame.py", line 9 in __call__
  File "/lib/torch/_dynamo/eval_frame.py", line 9 in compile_wrapper
  File "<cell f>", line 5 in f
  File "/lib/torch/_dynamo/convert_frame.py", line 9 in __call__
"""
COMPILED = """
  File "/lib/torch/_inductor/compile_fx.py", line 9 in run
  File "/lib/torch/_dynamo/eval_frame.py", line 9 in compile_wrapper
  File "<cell f>", line 5 in f
"""


@pytest.mark.parametrize(
    ("stack", "state", "words"),
    [
        (COMPILING, "running", "still compiles in torch.compile, cell line 5"),
        (COMPILED, "running", "still runs, cell line 5"),
        (f'  File "/a.py", line 1 in comm.allreduce{COMPILING}', "waiting", "waits in comm.allreduce, cell line 5"),
        ('  File "/lib/torch/utils/cpp_extension.py", line 1 in load', "running", "compiles in torch.utils.cpp_ext"),
        ('  File "/lib/torch/_inductor/ir.py", line 1 in <module>', "running", "still compiles in torch.compile"),
    ],
)
def test_a_rank_that_compiles_says_so(stack, state, words):
    rank = RankReport(0, 0, "running")
    rank.stand_at(stack)
    assert rank.state == state
    assert words in rank.sentence()


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


@pytest.mark.thorough
def test_a_run_whose_time_passes_while_torch_compiles_says_so(world: World):
    def compiling() -> Any:
        import torch

        def slowly(graph: Any, inputs: Any) -> None:
            time.sleep(600)

        return torch.compile(lambda x: x + 1, backend=slowly)(torch.ones(1))

    outcome = world.attempt(compiling, size=1, deadline=15)
    assert outcome.state == "too-slow"
    assert outcome.detail.startswith("rank 0 still compiles in torch.compile")
