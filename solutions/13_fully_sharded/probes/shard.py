"""Calls of `shard`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.values import drawn


class Seen(Evidence):
    """What was returned. memory: bytes behind it. graph: whether it needs a gradient. device: whether it is the
    parameter's."""

    result: Array
    memory: int
    graph: bool
    device: bool


def call(shard: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with a parameter that all ranks have alike."""
    values = drawn(call["seed"], call["shape"]).to(rank.torch_device, getattr(torch, call["dtype"]))
    parameter = torch.nn.Parameter(values)
    rank.argument("parameter", parameter)
    value = shard(parameter, rank.rank, rank.size)
    seen = rank.returned(value, parameter=parameter)
    if seen.kind != "tensor":
        return Seen(seen, 0, False, True)
    same = value.device == parameter.device
    return Seen(seen, value.untyped_storage().nbytes(), value.requires_grad, same)


PROBE = CallProbe(Seen, call)
