"""Calls of `setup` on nodes that are simulated, with GPUs that are simulated, too."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.probes.simulated_node import Chosen, simulated_node


class Seen(Evidence):
    """What a rank chose in a second call. initialised: whether Horovod is, on all ranks."""

    chosen: Chosen
    initialised: bool


def call(setup: Callable, rank: CallRank, call: dict) -> Seen:
    """Two calls, from a cell that runs on the node."""
    import horovod.torch as hvd

    with simulated_node(*call["local"][rank.rank], call["gpus"]) as noted:
        setup = rank.subject.salted(rank.rank).load()
        setup()
        chosen = Chosen.of(setup(), noted)
        initialised = hvd.is_initialized() and [hvd.rank(), hvd.size()] == [rank.rank, rank.size]
    return Seen(chosen, initialised)


PROBE = CallProbe(Seen, call, deadline=10, starts=True)
