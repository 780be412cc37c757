"""Steps with a `Reducer`, beside another one."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank

from ..shared.plan import batch_seed
from .training_steps import Seen, another_net, noted_net, on_network, train


def call(Reducer: Callable, rank: CallRank, call: dict) -> Seen:
    """The steps, while another network's gradients are under way, or have not been sent at all."""
    net, other = noted_net(rank, call), another_net(rank, call)
    with on_network(call):
        reducer, beside = (Reducer(each, [[*bucket] for bucket in call["buckets"]]) for each in (net, other))
        rank.notes["another"] = beside
        if call["beside"]:
            other.loss(batch_seed(call, 0, 0, rank.rank)).backward()
        steps = train(net, call, rank.comm, reducer.finish, reducer.no_sync)
        if call["beside"]:
            beside.finish()
        return Seen(steps)


PROBE = CallProbe(Seen, call, needs="torch")
