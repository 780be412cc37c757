"""Calls of `distributed_gradient`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Values


class Seen(Evidence):
    """What a rank returned: the derivatives by m and by n."""

    pair: Values


def call(distributed_gradient: Callable, rank: CallRank, call: dict) -> Seen:
    """One call with this rank's samples."""
    x, y = (rank.argument(name, torch.tensor(call[name][rank.rank], dtype=torch.float64)) for name in "xy")
    return Seen(Values.of(distributed_gradient(call["m"], call["n"], x, y), 2))


PROBE = CallProbe(Seen, call, needs="horovod")
