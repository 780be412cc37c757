"""Calls of `checkpointed`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from unittest import mock

import torch
from torch.utils import checkpoint as recomputation

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.recomputed import Counted, samples_of, seed_of


class Seen(Evidence):
    """got: the output, the gradient of x if it needs one, those of the parameters. kept: bytes that autograd keeps
    between the passes besides x, the output and the parameters. calls: of the layer, after the forward and after the
    backward pass. random: whether the random numbers after the backward pass are those that would have come without it.
    library: whether torch.utils.checkpoint was called."""

    got: list[Array]
    kept: int
    calls: list[int]
    random: bool
    library: bool


class Kept:
    """A tensor that autograd keeps."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def call(checkpointed: Callable, rank: CallRank, call: dict) -> Seen:
    """A forward and a backward pass; and a forward pass more, for what autograd keeps."""
    layer, x = Counted(call), samples_of(call)
    leaves = [*([x] if call["needs"] else []), *layer.parameters()]
    torch.manual_seed(seed_of(call))
    with mock.patch("torch.utils.checkpoint.checkpoint", wraps=recomputation.checkpoint) as library:
        y = checkpointed(layer, x)
    if not isinstance(y, torch.Tensor):
        return Seen([Array.of(y), *[Array.of(None) for _ in leaves]], 0, [layer.calls] * 2, True, library.called)
    result, calls = Array.of(y.detach().clone()), [layer.calls]
    torch.rand(3)  # as a layer behind this one would draw
    state = torch.get_rng_state()
    if y.requires_grad:
        y.square().sum().backward()
    going_on = torch.equal(state, torch.get_rng_state())
    got = [result, *(Array.of(each.grad) for each in leaves)]
    return Seen(got, kept_by(checkpointed, call), [*calls, layer.calls], going_on, library.called)


def kept_by(checkpointed: Callable, call: dict) -> int:
    """Bytes that autograd keeps after a forward pass besides x, the output and the parameters. It is a pass of its own,
    as a tensor that was saved under a hook is no longer the one that went in."""
    layer, x = Counted(call), samples_of(call)
    alive: weakref.WeakSet[Kept] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> Kept:
        kept = Kept(tensor)
        alive.add(kept)
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        y = checkpointed(layer, x)
    storages = {each.tensor.untyped_storage().data_ptr(): each.tensor.untyped_storage().nbytes() for each in [*alive]}
    for each in (x, *([y] if isinstance(y, torch.Tensor) else []), *layer.parameters()):
        storages.pop(each.untyped_storage().data_ptr(), None)
    return sum(storages.values())


PROBE = CallProbe(Seen, call)
