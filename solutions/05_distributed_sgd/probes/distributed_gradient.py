"""Calls of `distributed_gradient`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    """What a rank returned. kind: empty for two values, else what came instead."""

    kind: str
    dm: Number
    dn: Number


def call(distributed_gradient: Callable, rank: CallRank, call: dict) -> Seen:
    """One call with this rank's samples."""
    x, y = (rank.argument(name, torch.tensor(call[name][rank.rank], dtype=torch.float64)) for name in "xy")
    value = distributed_gradient(call["m"], call["n"], x, y)
    try:
        dm, dn = value
    except (TypeError, ValueError):
        return Seen(type_in_words(value), Number.of(None), Number.of(None))
    return Seen("", Number.of(dm), Number.of(dn))


PROBE = CallProbe(Seen, call, needs="horovod")
