"""Calls of `memory_per_rank`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import NumbersByName

NAMES = ["weights", "gradients", "optimizer", "master weights"]


def call(memory_per_rank: Callable, rank: CallRank, call: dict) -> NumbersByName:
    """One call."""
    return NumbersByName.of(memory_per_rank(call["parameters"], call["ranks"], call["stage"]), NAMES)


PROBE = CallProbe(NumbersByName, call)
