"""Calls of `shard`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.probes.sampler_passes import Ids


class Seen(Evidence):
    """What was returned for each of the ranks."""

    shares: list[Ids]


def call(shard: Callable, rank: CallRank, call: dict) -> Seen:
    """One data set, on so many ranks; a process is enough, as no rank needs another."""
    n, size = call["samples"], call["ranks"]
    return Seen([Ids.of(shard(n, number, size), most=3 * n + 10) for number in range(size)])


PROBE = CallProbe(Seen, call)
