"""Calls of `swap`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from autograde.probes.under_way import sends_under_way
from course.simulated.safe import safe

from ..shared.drawn import array_of_rank


class Seen(Evidence):
    """What a rank returned."""

    result: Array


def call(swap: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; where it is `safe`, each send waits for its receive."""
    own = rank.argument("array", array_of_rank(call, rank.rank))
    with sends_under_way(safe(rank.comm) if call["safe"] else rank.comm) as comm:
        value = swap(comm, own)
    return Seen(rank.returned(value, array=own))


PROBE = CallProbe(Seen, call)
