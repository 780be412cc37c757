"""Calls of `broadcast_rounds`."""

from __future__ import annotations

from collections.abc import Callable
from operator import index

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, judged_in_places

MOST = 64  # rounds, and pairs of a round, that are looked at


@judged_in_places(plan="another plan may be right, too")
class Seen(Evidence):
    """The plan, rounds of pairs. kind: empty, or what came instead, in words."""

    kind: str
    plan: list[list[tuple[int, int]]]


def call(broadcast_rounds: Callable, rank: CallRank, call: dict) -> Seen:
    """One plan."""
    value = broadcast_rounds(call["size"], call["root"])
    try:
        plan = [[(index(source), index(destination)) for source, destination in pairs] for pairs in value]
    except (TypeError, ValueError):
        return Seen("None" if value is None else f"{type_in_words(value)} of another form", [])
    return Seen("", [pairs[:MOST] for pairs in plan[:MOST]])


PROBE = CallProbe(Seen, call)
