"""Calls of `distributed_accuracy`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    """What a rank returned."""

    value: Number


def call(distributed_accuracy: Callable, rank: CallRank, call: dict) -> Seen:
    """One call with what this rank holds."""
    correct = rank.argument("correct", rank.tensor(call["correct"][rank.rank], bool))
    indices = rank.argument("indices", rank.tensor(call["indices"][rank.rank], int))
    return Seen(Number.of(distributed_accuracy(correct, indices, call["dataset_size"])))


PROBE = CallProbe(Seen, call, needs="torch")
