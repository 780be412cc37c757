"""Calls of `shard`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from autograde.contract.gpu import DeviceMistake

from ..shared.values import drawn


class Seen(Evidence):
    """What was returned. memory: bytes behind it. graph: whether there is one of autograd's behind it."""

    result: Array
    memory: int
    graph: bool


def call(shard: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with a parameter that all ranks have alike."""
    parameter = torch.nn.Parameter(drawn(call["seed"], call["shape"], call["dtype"]).to(rank.torch_device))
    rank.argument("parameter", parameter)
    value = shard(parameter, rank.rank, rank.size)
    seen = rank.returned(value, parameter=parameter)
    if seen.kind != "tensor":
        return Seen(seen, 0, False)
    if value.device != parameter.device:
        raise DeviceMistake(f"what `shard` returns is on {value.device}, and its parameter on {parameter.device}")
    return Seen(seen, value.untyped_storage().nbytes(), value.grad_fn is not None)


PROBE = CallProbe(Seen, call)
