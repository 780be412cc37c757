"""Calls of `fit_scaling`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Values


class Seen(Evidence):
    """The parts that were returned. changed: whether the lists are not what they were."""

    parts: Values
    changed: bool


def call(fit_scaling: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with lists of its own."""
    ranks, seconds = [*call["ranks"]], [*call["seconds"]]
    parts = Values.of(fit_scaling(ranks, seconds), 3)
    return Seen(parts, (ranks, seconds) != (call["ranks"], call["seconds"]))


PROBE = CallProbe(Seen, call)
