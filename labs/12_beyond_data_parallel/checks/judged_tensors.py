"""Verdicts on tensors that ranks show, and on the collectives that they call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.schema import array, integer, numbers, record, string
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import deadlock
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.judged import Run
from course.world.report import name_ranks

TOLERANCE = 1e-9  # what the order of sums may change in float64

finding = Findings("""
group-left-out 2
The call is made by {members} alone, with a `group` of their own. But your code calls {op} over {actual} ranks, and the
others never come. Which group does that call use?

gradient-by-luck 2
Autograd warns that it knows no gradient for a call of torch.distributed in your graph. The numbers may be right today,
and torch says that this is going to be an error. Where does autograd not look into a call?

other-kind-of-tensor 2
Rank {rank} gives {actual} where a tensor of float64 is expected.

other-shape-of-tensor 1.5
Rank {rank} gives a tensor of shape {actual}, where {expected} is expected.
""")


def tensor_schema() -> dict:
    """What `tensors.shown` gives."""
    return record(kind=string(), shape=array(integer(0)), values=numbers())


def flat(tensor: torch.Tensor) -> list[float]:
    """Its numbers, row by row."""
    return tensor.detach().reshape(-1).tolist()


def close(actual: Any, expected: Any) -> bool:
    """Whether numbers, in lists inside each other, are the same but for rounding."""
    if isinstance(expected, (list, tuple)):
        return isinstance(actual, (list, tuple)) and len(actual) == len(expected) and all(map(close, actual, expected))
    return agree(actual, expected, TOLERANCE)


def not_tensors(seen: Sequence[dict], shapes: Sequence[Sequence[int]], ranks: Sequence[int]) -> list[Finding]:
    """What is wrong with the form of tensors that the ranks show: the first thing that is."""
    for rank, own, shape in zip(ranks, seen, shapes, strict=True):
        if own["kind"] != "float64":
            return [finding("other-kind-of-tensor", rank=rank, actual=own["kind"])]
        if own["shape"] != [*shape]:
            return [finding("other-shape-of-tensor", rank=rank, actual=own["shape"], expected=[*shape])]
    return []


def members_of(case: dict) -> list[int]:
    """The ranks that make the calls of a case."""
    return [0, case["size"] - 1] if case["ends"] else [*range(case["size"])]


def wrong_members(case: dict, logs: Sequence[Sequence[dict]], report: str = "") -> list[Finding]:
    """A finding if a rank communicates in another group than that of the case."""
    for event in (event for log in logs for event in log):
        if case["ends"] and event["members"] and len(event["members"]) > 2:
            op = "all_reduce" if "object" in event["op"] else event["op"]  # that is how the check's own f and g sum
            about = {"members": name_ranks(members_of(case)), "op": op, "actual": len(event["members"])}
            return [finding("group-left-out", report, **about)]
    return []


def stuck_in_group(case: dict, run: Run) -> Iterable[Finding]:
    """What a hang in a group of some ranks means."""
    logs = run.of_call(run.reached)
    if run.state != "hang":
        return []
    return wrong_members(case, logs, run.report) or deadlock([logs[rank] for rank in members_of(case)], run.report)


def counted(logs: Sequence[Sequence[dict]]) -> list[dict]:
    """The calls of the rank that makes most of them. logs: by rank."""
    return max(logs, key=len)
