"""Calls of `checkpointed`."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.recomputed import Counted, before_of, samples_of, seed_of

LIBRARY = "torch.utils.checkpoint"


class Seen(Evidence):
    """got: the output, the gradient of x if it needs one, those of the parameters. kept: bytes that autograd keeps
    between the passes besides x, the output and the parameters. calls: of the layer, after the forward and after the
    backward pass. random: whether the random numbers after either pass are those that would have come without this
    function. needs: whether x needs a gradient afterwards. library: whether torch.utils.checkpoint called the layer."""

    got: list[Array]
    kept: int
    calls: list[int]
    random: list[bool]
    needs: bool
    library: bool


class Kept:
    """A tensor that autograd keeps."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def called_from(module: str) -> bool:
    """Whether a function of this module is among those that are running."""
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame is not None


def call(checkpointed: Callable, rank: CallRank, call: dict) -> Seen:
    """A forward and a backward pass; and a forward pass more, for what autograd keeps."""
    layer, x, library = Counted(call), rank.argument("x", samples_of(call)), []
    layer.register_forward_pre_hook(lambda *_: library.append(called_from(LIBRARY)))
    leaves = [*([x] if call["needs"] else []), *layer.parameters()]
    for leaf, before in zip(leaves, before_of(call, leaves), strict=True):
        leaf.grad = before
    torch.manual_seed(seed_of(call))
    with torch.no_grad():
        Counted(call)(x)
    after_forward = torch.get_rng_state()
    torch.manual_seed(seed_of(call))
    y = checkpointed(layer, x)
    if not isinstance(y, torch.Tensor):
        nothing = [Array.of(y), *[Array.of(None) for _ in leaves]]
        return Seen(nothing, 0, [layer.calls] * 2, [True, True], x.requires_grad, any(library))
    result, calls = Array.of(y.detach().clone()), layer.calls
    random = [torch.equal(after_forward, torch.get_rng_state())]
    torch.rand(3)  # as a layer behind this one would draw
    state = torch.get_rng_state()
    if y.requires_grad:
        y.square().sum().backward()
    random.append(torch.equal(state, torch.get_rng_state()))
    got = [result, *(Array.of(each.grad) for each in leaves)]
    both, needs = [calls, layer.calls], x.requires_grad
    return Seen(got, kept_by(checkpointed, call), both, random, needs, any(library))


def kept_by(checkpointed: Callable, call: dict) -> int:
    """Bytes of floats that autograd keeps after a forward pass besides x, the output and the parameters. It is a pass
    of its own, as a tensor that was saved under a hook is no longer the one that went in."""
    layer, x = Counted(call), samples_of(call)
    alive: weakref.WeakSet[Kept] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> Kept:
        kept = Kept(tensor)
        if tensor.is_floating_point():
            alive.add(kept)
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        y = checkpointed(layer, x)
    storages = {each.tensor.untyped_storage().data_ptr(): each.tensor.untyped_storage().nbytes() for each in [*alive]}
    for each in (x, *([y] if isinstance(y, torch.Tensor) else []), *layer.parameters()):
        storages.pop(each.untyped_storage().data_ptr(), None)
    return sum(storages.values())


PROBE = CallProbe(Seen, call)
