"""Calls of `memory_per_rank`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, NumbersByName

NAMES = ["weights", "gradients", "optimizer", "master weights"]


class Seen(Evidence):
    """What was returned, by stage."""

    stages: list[NumbersByName]


def call(memory_per_rank: Callable, rank: CallRank, call: dict) -> Seen:
    """A call for each stage."""
    about = call["parameters"], call["ranks"]
    return Seen([NumbersByName.of(memory_per_rank(*about, stage), NAMES) for stage in range(4)])


PROBE = CallProbe(Seen, call)
