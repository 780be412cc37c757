"""Calls of `backward_passes`: right forward passes, made on each rank by itself; gradients that were there before."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.stages import Stage, batch_of, left_before, losses_of


class Seen(Evidence):
    """gradients: of the stage's weight and bias, after the call."""

    gradients: list[Array]


def call(backward_passes: Callable, rank: CallRank, call: dict) -> Seen:
    """The backward passes of this rank's stage."""
    device = rank.torch_device
    inputs = [each.to(device) for each in batch_of(call)]
    for number in range(rank.rank):
        inputs = [Stage(call, number).to(device)(each).detach() for each in inputs]
    stage = Stage(call, rank.rank, rank.comm).to(device)
    if rank.rank:
        inputs = [each.contiguous().requires_grad_() for each in inputs]
    passes = [(each, stage(each)) for each in inputs]
    losses = losses_of(call, [y for _, y in passes]) if rank.rank == rank.size - 1 else None
    for parameter, before in zip(stage.parameters(), left_before(call, rank.rank), strict=True):
        parameter.grad = before.to(device) if call["before"] else None
    backward_passes(passes, losses)
    return Seen([Array.of(each.grad) for each in stage.parameters()])


PROBE = CallProbe(Seen, call, needs="torch", deadline=8.0)
