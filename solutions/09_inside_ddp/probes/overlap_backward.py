"""Steps with what `overlap_backward` returns, which serves another network besides."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words

from .training_steps import Seen, another_net, noted_net, on_network, train


def call(overlap_backward: Callable, rank: CallRank, call: dict) -> Seen:
    """The steps, with what the student's function gives after each backward pass."""
    net = noted_net(rank, call)
    with on_network(call):
        finish = overlap_backward(net)
        rank.notes["another"] = overlap_backward(another_net(rank, call))
        if not callable(finish):
            return Seen([], type_in_words(finish))
        return Seen(train(net, call, rank.comm, finish))


PROBE = CallProbe(Seen, call, needs="torch", deadline=12)
