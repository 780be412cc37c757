"""Blocks of `gathered` around a forward and a backward pass."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from course.models.memory import memory
from course.watch.notes import note

from ..shared.layers import batch_of, layer_of, shards_of


class Seen(Evidence):
    """weights: the parameters in the block. held: bytes behind them in the block, after it, and after one that an error
    ends. goes_on: whether this error came out of the block. gradient: of the samples, by a backward pass in a later
    block; error: what stopped that. same: whether parameters and their storages are the same objects as before."""

    weights: list[Array]
    held: list[int]
    goes_on: bool
    gradient: Array
    error: str
    same: bool


class Stop(Exception):
    """Ends a block."""


def places(layer: nn.Module) -> list[tuple[int, int]]:
    """Which objects the parameters are, and the storages below them."""
    return [(id(each), each.untyped_storage()._cdata) for each in layer.parameters()]


def call(gathered: Callable, rank: CallRank, call: dict) -> Seen:
    """Three blocks: a forward pass, an error, a backward pass."""
    layer = layer_of(call).to(rank.torch_device)
    parameters, x = [*layer.parameters()], batch_of(call, rank.rank).to(rank.torch_device).requires_grad_()
    before = places(layer)
    for parameter in parameters:
        parameter.untyped_storage().resize_(0)
    shards = [
        rank.argument(f"shards[{number}]", each.to(rank.torch_device))
        for number, each in enumerate(shards_of(call, rank.rank, rank.size))
    ]
    block = gathered(layer, shards)
    note(rank.comm, "made")
    with block:
        note(rank.comm, "entered")
        # Of copies: a storage that numpy has looked at cannot be resized any more.
        weights, held = [Array.of(each.detach().clone()) for each in parameters], [memory(parameters)]
        y = layer(x)
    held.append(memory(parameters))
    note(rank.comm, "left")
    goes_on = False
    try:
        with gathered(layer, shards):
            raise Stop
    except Stop:
        goes_on = True
    held.append(memory(parameters))
    same, error = places(layer) == before, ""
    try:
        with gathered(layer, shards):
            if same:  # else the backward pass would read memory that is gone
                y.sum().backward()
    except RuntimeError as stopped:
        error = rank.in_words(stopped)[:300]
    return Seen(weights, held, goes_on, Array.of(x.grad), error, same)


PROBE = CallProbe(Seen, call, needs="torch")
