"""Blocks of `gathered`: around a forward pass, an error, and the backward pass of the first one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from inspect import isframe

import torch
from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, unjudged
from course.models.memory import memory
from course.watch.notes import note

from ..shared.layers import batch_of, layer_of, shards_of


@unjudged(kept="it is less than a row, which is much more than a byte")
class Seen(Evidence):
    """weights: the parameters in the block. early, held, after: bytes behind them when the object is made, in the block
    and after it. kept: those that other tensors take in the block, and did not before the object was made. error: what
    came out of the block. gradient: of the samples. same: whether parameters and their storages are the same
    objects."""

    weights: list[Array]
    early: int
    held: int
    after: int
    kept: int
    error: str
    gradient: Array
    same: bool


class Stop(RuntimeError):
    """Ends a block."""


def places(layer: nn.Module) -> list[tuple[int, int]]:
    """Which objects the parameters are, and the storages below them."""
    return [(id(each), each.untyped_storage()._cdata) for each in layer.parameters()]


def place_of(tensor: torch.Tensor) -> int:
    """Where its memory is."""
    return tensor.untyped_storage().data_ptr()


def tensors() -> list[torch.Tensor]:
    """All that there are."""
    return [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]


def came_since(before: set[int], layer: nn.Module) -> int:
    """Bytes of memory that tensors are in now, and were not before, besides the layer's parameters. A tensor to which
    nothing in Python refers does not count: a handle of PyTorch's may know it for longer."""
    there, every = {*before, *map(place_of, layer.parameters())}, tensors()
    new = [each for each in every if place_of(each) not in there]
    apart = [id(every), id(new)]
    known = [any(id(by) not in apart and not isframe(by) for by in gc.get_referrers(each)) for each in new]
    return memory([each for each, by_python in zip(new, known, strict=True) if by_python])


def begin(rank: CallRank, call: dict) -> tuple:
    """A layer whose weights are freed, samples, and what the parameters are."""
    layer = layer_of(call, rank.size).to(rank.torch_device)
    before = places(layer)
    for parameter in layer.parameters():
        parameter.untyped_storage().resize_(0)
    return layer, batch_of(call, rank.rank).to(rank.torch_device).requires_grad_(), before


def call(gathered: Callable, rank: CallRank, call: dict) -> Seen:
    """One block; a call's `phase` says around what."""
    forward = call["phase"] == "forward"
    if forward:
        rank.notes["begun"] = begin(rank, call)
    layer, x, before = rank.notes["begun"]
    shards = [
        rank.argument(f"shards[{number}]", each.to(rank.torch_device))
        for number, each in enumerate(shards_of(call, rank.rank, rank.size))
    ]
    there, weights, held, kept, error = {*map(place_of, tensors())}, [], 0, 0, ""
    block = gathered(layer, shards)
    note(rank.comm, "made")
    early = memory(layer.parameters())
    try:
        with block:
            note(rank.comm, "entered")
            held, kept = memory(layer.parameters()), came_since(there, layer)
            # Of copies: a storage that numpy has looked at cannot be resized any more.
            weights = [Array.of(each.detach().clone()) for each in layer.parameters()]
            if call["phase"] == "error":
                raise Stop("Stop")
            if forward:
                rank.notes["y"] = layer(x)
            elif places(layer) == before:  # else the backward pass would read memory that is gone
                rank.notes["y"].sum().backward()
    except RuntimeError as stopped:
        if not isinstance(stopped, Stop) and (call["phase"] != "backward" or not weights):
            raise
        error = "Stop" if isinstance(stopped, Stop) else rank.in_words(stopped)[:300]
    gradient = Array.of(x.grad if isinstance(x.grad, torch.Tensor) else None)
    after = memory(layer.parameters())
    return Seen(weights, early, held, after, kept, error, gradient, places(layer) == before)


PROBE = CallProbe(Seen, call, needs="torch")
