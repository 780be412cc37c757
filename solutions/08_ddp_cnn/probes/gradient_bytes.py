"""Calls of `gradient_bytes`."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number

from ..shared.tied import built


class Seen(Evidence):
    """What was returned. altered: whether the model is not what it was before."""

    value: Number
    altered: bool


def looks(model: nn.Module) -> list[tuple]:
    """What a call may not change."""
    return [(str(each.dtype), str(each.device), each.requires_grad, each.grad is None) for each in model.parameters()]


def call(gradient_bytes: Callable, rank: CallRank, call: dict) -> Seen:
    """One call with a new model."""
    model = built(call)
    before = looks(model)
    return Seen(Number.of(gradient_bytes(model)), looks(model) != before)


PROBE = CallProbe(Seen, call)
