"""Calls of `reduce_scattered`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.layers import before_of, gradients_of, layer_of, shards_of


class Seen(Evidence):
    """grads: `.grad` of the shards. left: of each parameter of the layer, whether its gradient is "gone", "whole" as it
    was, or "changed"."""

    grads: list[Array]
    left: list[str]


def call(reduce_scattered: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with a layer and shards of its own."""
    layer, device = layer_of(call).to(rank.torch_device), rank.torch_device
    gradients = [each if each is None else each.to(device) for each in gradients_of(call, rank.rank)]
    shards = [each.to(device) for each in shards_of(call, rank.rank, rank.size)]
    for parameter, gradient in zip(layer.parameters(), gradients, strict=True):
        parameter.grad = None if gradient is None else gradient.clone()
        parameter.untyped_storage().resize_(0)
    for number, (own, before) in enumerate(zip(shards, before_of(call, rank.rank, rank.size), strict=True)):
        rank.argument(f"shards[{number}]", own)
        own.grad = before if before is None else before.to(device)
    more = {} if call["sync"] else {"sync": False}
    reduce_scattered(layer, shards, **more)
    left = [
        "gone" if each.grad is None else "whole" if same(each.grad, gradient) else "changed"
        for each, gradient in zip(layer.parameters(), gradients, strict=True)
    ]
    return Seen([Array.of(each.grad) for each in shards], left)


def same(one: object, other: object) -> bool:
    """Whether both are the same numbers."""
    return other is not None and one.shape == other.shape and bool((one == other).all())


PROBE = CallProbe(Seen, call, needs="torch")
