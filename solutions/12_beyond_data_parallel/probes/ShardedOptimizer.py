"""Calls on a `ShardedOptimizer`: it is set up in one, and makes a step in each of those behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_calls, judged_in_places

from ..shared.sharded import OPTIMIZERS, gradients_of, parameters_of


@judged_in_places(first="numbers of another type take other memory")
class Given(Evidence):
    """What `make` gets. tensors: how many. first: of these. memory: bytes behind it."""

    tensors: int
    first: Array
    memory: int


@judged_in_calls(made="where gradients are missing, the parameters are judged")
class Seen(Evidence):
    """parameters: after the call. made: each call of `make` so far. steady: whether parameters are in the memory where
    they were. kept: whether gradients are what they were, or zeros where there was none."""

    parameters: list[Array]
    made: list[Given]
    steady: bool
    kept: bool


class Making:
    """A `make` that keeps what it is given in `made`."""

    def __init__(self, name: str) -> None:
        self.name, self.made = name, []

    def __call__(self, tensors: Any) -> torch.optim.Optimizer:
        """The optimizer for these tensors."""
        tensors = [*tensors]
        first = tensors[0] if tensors else None
        memory = first.untyped_storage().nbytes() if isinstance(first, torch.Tensor) else 0
        self.made.append(Given(len(tensors), Array.of(first), memory))
        return OPTIMIZERS[self.name](tensors)


def same(now: torch.Tensor | None, before: torch.Tensor | None) -> bool:
    """Whether a gradient is what it was before a step; where there was none, zeros are as good."""
    if before is None:
        return now is None or not now.any()
    return now is not None and torch.equal(now, before)


def call(sharded_optimizer: Callable, rank: CallRank, call: dict) -> Seen:
    """The optimizer is set up, or makes the call's `step`."""
    notes, steady, kept = rank.notes, True, True
    if call["step"] < 0:
        notes["parameters"] = [nn.Parameter(each.to(rank.torch_device)) for each in parameters_of(call)]
        notes["make"] = Making(call["optimizer"])
        notes["optimizer"] = sharded_optimizer(iter(notes["parameters"]), notes["make"])
    else:
        parameters, gradients = notes["parameters"], gradients_of(call, call["step"], rank.rank)
        before = [each if each is None else each.to(rank.torch_device) for each in gradients]
        for parameter, gradient in zip(parameters, before, strict=True):
            parameter.grad = gradient if gradient is None else gradient.clone()
        places = [each.data_ptr() for each in parameters]
        notes["optimizer"].step()
        steady = places == [each.data_ptr() for each in parameters]
        kept = all(same(each.grad, old) for each, old in zip(parameters, before, strict=True))
    return Seen([*map(Array.of, notes["parameters"])], notes["make"].made, steady, kept)


PROBE = CallProbe(Seen, call, needs="torch", deadline=8.0)
