"""Calls of `setup` on nodes that are simulated, with GPUs that are simulated, too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.probes.simulated_node import Chosen, simulated_node


class Seen(Evidence):
    """What a rank chose in a second call. initialised: whether Horovod is, on all ranks."""

    chosen: Chosen
    initialised: bool


def call(setup: Callable, rank: CallRank, call: dict) -> Seen:
    """Two calls."""
    import horovod.torch as hvd

    setup()
    chosen = Chosen.of(setup(), rank.surroundings)
    return Seen(chosen, hvd.is_initialized() and [hvd.rank(), hvd.size()] == [rank.rank, rank.size])


def around(rank: CallRank, call: dict) -> AbstractContextManager[dict]:
    """The node of a rank."""
    return simulated_node(*call["local"][rank.rank], call["gpus"])


PROBE = CallProbe(Seen, call, around=around, deadline=10, starts=True)
