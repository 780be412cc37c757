"""Calls on a `ParallelMLP`, by their `way`: it is built, used forward, and then backward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_calls, judged_in_places
from course.models.memory import memory
from course.watch.recorder import unwatched

from ..shared.groups import members_of, own_group
from ..shared.mlps import input_of, mlp_of, shapes_of, upstream_of
from .held import inside, places
from .luck import by_luck
from .stand_ins import stand_ins

MOST = 20  # sums of a pass that are told


@judged_in_places(sums="a pass over no split layer has none")
@judged_in_calls(held="once, when the module has been made")
class Seen(Evidence):
    """shown: the parameters, or the output as "y", or the gradients of the parameters and, if it needs
    one, of x. held: bytes of the
    memory in which the module's tensors are. apart: whether no parameter is in the memory of the MLP's. kept: whether
    the MLP is what it was. warned: whether autograd knew no gradient for a call. sums: bytes of each sum that the
    check's own f and g made."""

    shown: dict[str, Array]
    held: int
    apart: bool
    kept: bool
    warned: bool
    sums: list[int]


def names(rank: CallRank, case: dict) -> Mapping[str, Any]:
    """f and g."""
    rank.notes["sums"] = []
    return stand_ins(rank.notes["sums"])


def fits(part: nn.Module, rank: CallRank, call: dict) -> bool:
    """Whether the parameters that a pass needs are there, in their shapes."""
    members = members_of(call, rank.size)
    due = shapes_of(call, members.index(rank.rank), len(members))
    return due.items() <= {name: [*each.shape] for name, each in part.named_parameters()}.items()


def begin(function: Any, rank: CallRank, call: dict, group: list) -> dict[str, Array]:
    """The parameters of a new part."""
    rank.notes["mlp"] = mlp_of(call).to(rank.torch_device)
    rank.notes["part"] = part = function(rank.notes["mlp"], *group)
    rank.notes["fits"] = fits(part, rank, call)
    return {name: Array.of(each) for name, each in part.named_parameters()}


def forward(rank: CallRank, call: dict) -> dict[str, Array]:
    """The output."""
    x = input_of(call).to(rank.torch_device)
    rank.notes["x"] = x.requires_grad_(call["leaf"])
    rank.notes["y"] = y = rank.notes["part"](rank.argument("x", x.view_as(x) if call["leaf"] else x))
    return {"y": Array.of(y)}


def backward(rank: CallRank, call: dict) -> dict[str, Array]:
    """The gradients."""
    y, upstream = rank.notes["y"], upstream_of(call).to(rank.torch_device)
    if getattr(y, "grad_fn", None) is not None and y.shape == upstream.shape:
        y.backward(upstream)
    gradients = {name: Array.of(each.grad) for name, each in rank.notes["part"].named_parameters()}
    return {**gradients, "x": Array.of(rank.notes["x"].grad)} if call["leaf"] else gradients


def call(function: Any, rank: CallRank, call: dict) -> Seen:
    """The module is built, or used in one direction; nobody uses it where a rank's part is of no use."""
    present, group = own_group(rank, call)
    notes, way = rank.notes, call["way"]
    if way == "forward":
        notes["fits"] = all(unwatched(type(rank.comm).allgather)(rank.comm, notes.get("fits", True)))
    if not present or (way != "construct" and not notes["fits"]):
        return Seen({}, 0, True, True, False, [])
    notes["sums"].clear()
    with by_luck() as warned:
        if way == "construct":
            shown = begin(function, rank, call, group)
        else:
            shown = forward(rank, call) if way == "forward" else backward(rank, call)
    before, now = [*mlp_of(call).parameters()], [*notes["mlp"].parameters()]
    kept = len(now) == len(before) and all(
        torch.equal(a.cpu(), b) and a.grad is None for a, b in zip(now, before, strict=True)
    )
    apart = not places(notes["part"]) & places(notes["mlp"])
    return Seen(shown, memory(inside(vars(notes["part"]))), apart, kept, warned[0], notes["sums"][:MOST])


PROBE = CallProbe(Seen, call, names, needs="torch", deadline=8.0)
