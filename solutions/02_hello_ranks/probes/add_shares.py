"""Calls of `add_shares`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number
from autograde.probes.simulated_node import simulated_node


class Seen(Evidence):
    """What a rank returned.

    kind: empty for three values, else what came instead. c: the numbers of an int64 tensor with one dimension, else
    None; c_kind: what it is, in words. share, total: the sums.
    """

    kind: str
    c_kind: str = ""
    c: list[int] | None = None
    share: Number | None = None
    total: Number | None = None


def call(add_shares: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, on simulated nodes of `local_size` ranks each."""
    a, b = (rank.argument(name, torch.tensor(call[name], dtype=torch.int64)) for name in "ab")
    with simulated_node(rank.rank % call["local_size"], call["local_size"]):
        value = add_shares(a, b)
    if not isinstance(value, (tuple, list)) or len(value) != 3:
        return Seen(f"a tuple of {len(value)}" if isinstance(value, tuple) else type_in_words(value))
    c, share, total = value
    kind = type_in_words(c)
    if isinstance(c, torch.Tensor):
        kind = f"a tensor of {str(c.dtype).removeprefix('torch.')}, of shape {[*c.shape]}"
    known = isinstance(c, torch.Tensor) and c.dtype == torch.int64 and c.ndim == 1
    return Seen("", kind, c.tolist() if known else None, Number.of(share), Number.of(total))


PROBE = CallProbe(Seen, call, needs="horovod")
