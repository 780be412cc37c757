"""Calls of `reduce_scattered`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_calls

from ..shared.layers import before_of, gradients_of, layer_of, shards_of


@judged_in_calls(grads="without `sync`, gradients stay where they are")
class Seen(Evidence):
    """grads: `.grad` of the shards. gone: whether no parameter of the layer has a gradient. unchanged: whether all
    gradients, of the layer and of the shards, are what they were."""

    grads: list[Array]
    gone: bool
    unchanged: bool


def call(reduce_scattered: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with a layer and shards of its own."""

    def here(tensors: list) -> list:
        return [each if each is None else each.to(rank.torch_device) for each in tensors]

    layer, shards = layer_of(call, rank.size).to(rank.torch_device), here(shards_of(call, rank.rank, rank.size))
    for parameter, gradient in zip(layer.parameters(), here(gradients_of(call, rank.rank)), strict=True):
        parameter.grad = gradient
        parameter.untyped_storage().resize_(0)
    for number, (own, before) in enumerate(zip(shards, here(before_of(call, rank.rank, rank.size)), strict=True)):
        rank.argument(f"shards[{number}]", own)
        own.grad = before
    every = [*layer.parameters(), *shards]
    before = [each.grad if each.grad is None else each.grad.clone() for each in every]
    more = {} if call["sync"] else {"sync": False}
    reduce_scattered(layer, shards, **more)
    unchanged = all(same(each.grad, old) for each, old in zip(every, before, strict=True))
    return Seen(
        [Array.of(each.grad) for each in shards], all(each.grad is None for each in layer.parameters()), unchanged
    )


def same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    """Whether both are the same numbers, or none."""
    return one is other if one is None or other is None else torch.equal(one, other)


PROBE = CallProbe(Seen, call, needs="torch")
