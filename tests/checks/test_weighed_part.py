"""A second run, in which one rank's part of each sum weighs more: who uses what comes out returns another number."""

from __future__ import annotations

import pytest
from lab_packages import probe_of
from made_events import event

from autograde.cells.subject import Subject
from autograde.probes.weighed_part import WEIGHED, heaviest, was_weighed
from autograde.rubric import Run

HEAD = """
import torch
import torch.distributed as dist
from mpi4py import MPI

def total(part):
    number = torch.tensor([part, 1.0])
"""
CASE = {"size": 3, "calls": [{}], WEIGHED: True}  # parts 1, 2 and 3: 6 in all


PROBE = probe_of(
    "total",
    """
from autograde.contract.evidence import Evidence
from autograde.probes.weighed_part import WeighedProbe


class Seen(Evidence):
    value: float


def call(total, rank, call):
    return Seen(float(total(rank.rank + 1.0)))


PROBE = WeighedProbe(Seen, call, needs="torch", deadline=5.0)
""",
)


def seen(world, lines: str, case: dict = CASE) -> tuple[list[float], bool]:
    """What the ranks return, and whether that is from a second run."""
    source = HEAD + "".join(f"    {line}\n" for line in lines.splitlines())
    (call,) = Run(case, PROBE(world, Subject("total", source), case), PROBE.seen).calls
    return call.of("value"), was_weighed(case, call.notes)


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("dist.all_reduce(number)\nreturn number[0]", 57.0),
        ("dist.all_reduce(number)\nreturn number[1]", 394.0),
        ("dist.all_reduce(number, async_op=True).wait()\nreturn number[0]", 57.0),
        ("dist.all_reduce(number[:1])\ndist.all_reduce(number[1:])\nreturn number.sum()", 451.0),
        ("dist.all_reduce(number.clone())\nreturn 6.0", 6.0),
    ],
    ids=["a sum", "its second number", "a sum that goes on", "two sums", "a sum that is dropped"],
)
def test_another_number_comes_out_and_is_returned_unless_it_is_dropped(world, lines, value):
    assert seen(world, lines) == ([value] * 3, True)


@pytest.mark.parametrize(
    "lines",
    [
        "dist.all_reduce(number)\ndist.all_gather([torch.ones(1)] * 3, torch.ones(1))\nreturn number[0]",
        "dist.all_reduce(number, op=dist.ReduceOp.MAX)\nreturn 6.0",
        "many = torch.zeros(99)\nmany[0] = part\ndist.all_reduce(many)\nreturn many[0]",
        "return MPI.COMM_WORLD.allreduce(0.0) + 6.0 if dist.get_world_size() == 4 else 6.0",
        "dist.all_reduce(number)\nassert number[0] == 6\nreturn 6.0",
    ],
    ids=["a gather, too", "a maximum", "many numbers", "nothing", "an answer that fails where sums are other ones"],
)
def test_where_it_could_do_harm_the_first_run_is_what_counts(world, lines):
    values, second = seen(world, lines)
    assert (values, second) == ([6.0] * 3, False)


def test_without_the_mark_there_is_no_second_run(world):
    assert seen(world, "dist.all_reduce(number)\nreturn number[0]", {**CASE, WEIGHED: False}) == ([6.0] * 3, False)


def test_a_rank_whose_part_is_large_is_chosen():
    logs = [[event("barrier"), event(library="torch", values=[each])] for each in (0.0, -4.0, 1.0)]
    assert heaviest(logs) == 1
    assert heaviest(logs[:1]) is None and heaviest([[], []]) is None and heaviest([*logs[:2], []]) is None
