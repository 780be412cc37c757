"""Calls of `best_every`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number, judged_in_places


@judged_in_places(value="the next one may be as good")
class Seen(Evidence):
    """What was returned."""

    value: Number


def call(best_every: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    return Seen(Number.of(best_every(call["step"], call["save"], call["mtbf"], call["nodes"])))


PROBE = CallProbe(Seen, call)
