"""Calls of `checkpointed`, beside the same layer without it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from unittest import mock

import torch
from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.values import drawn


class Seen(Evidence):
    """Of the call, and of the layer alone: output, gradient of x and those of the parameters. kept: bytes that autograd
    keeps between the passes besides x and the parameters. calls: of the layer, after the forward and after the backward
    pass. random: whether the random numbers after the backward pass are those that would have come without it. library:
    whether torch.utils.checkpoint was called."""

    got: list[Array]
    alone: list[Array]
    kept: int
    calls: list[int]
    random: bool
    library: bool


class Counted(nn.Module):
    """A layer that counts its calls."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(width, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.Tanh()
        ).double()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's output."""
        self.calls += 1
        return self.inner(x)


class Kept:
    """A tensor that autograd keeps."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def passes(run: Callable, layer: Counted, x: torch.Tensor, seed: int) -> tuple[list[Array], int, list[int], bool]:
    """A forward and a backward pass: results, bytes kept in between, calls, and whether random numbers go on."""
    there = {each.untyped_storage().data_ptr() for each in (x, *layer.parameters())}
    alive: weakref.WeakSet[Kept] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> Kept:
        kept = Kept(tensor)
        alive.add(kept)
        return kept

    torch.manual_seed(seed)
    layer.calls = 0
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        y = run(layer, x)
    if not isinstance(y, torch.Tensor):
        needing = [each for each in (x, *layer.parameters()) if each.requires_grad]
        return [Array.of(y), *[Array.of(None) for _ in needing]], 0, [layer.calls] * 2, True
    result = y.detach().clone()
    tensors = {each.tensor.untyped_storage().data_ptr(): each.tensor for each in [*alive]}
    ours = {*there, y.untyped_storage().data_ptr()}  # whoever called has the output
    kept = sum(each.untyped_storage().nbytes() for place, each in tensors.items() if place not in ours)
    tensors.clear()
    torch.rand(3)  # as a layer behind this one would draw
    calls, state = [layer.calls], torch.get_rng_state()
    if y.requires_grad:
        y.square().sum().backward()
    calls.append(layer.calls)
    gradients = [each.grad for each in (x, *layer.parameters()) if each.requires_grad]
    return [Array.of(each) for each in (result, *gradients)], kept, calls, torch.equal(state, torch.get_rng_state())


def call(checkpointed: Callable, rank: CallRank, call: dict) -> Seen:
    """The layer with it, and alone."""
    found = []
    for run in checkpointed, lambda layer, x: layer(x):
        torch.manual_seed(call["seed"])
        layer = Counted(call["width"], call["hidden"], call["dropout"])
        x = drawn(call["seed"], [3, call["width"]]).requires_grad_(call["needs"])
        with mock.patch("torch.utils.checkpoint.checkpoint", wraps=torch.utils.checkpoint.checkpoint) as library:
            found.append((*passes(run, layer, x, call["seed"] + 1), library.called))
    (got, kept, calls, random, library), (alone, *_) = found
    return Seen(got, alone, kept, calls, random, library)


PROBE = CallProbe(Seen, call)
