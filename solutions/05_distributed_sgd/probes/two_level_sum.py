"""Calls of `two_level_sum`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from autograde.fixtures.drawn_arrays import array_of


class Seen(Evidence):
    """What a rank returned."""

    result: Array


def call(two_level_sum: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; `hosts` are the nodes' names by rank."""
    own = rank.argument("array", array_of(call, rank.rank))
    return Seen(rank.returned(two_level_sum(rank.comm, call["hosts"][rank.rank], own), array=own))


PROBE = CallProbe(Seen, call)
