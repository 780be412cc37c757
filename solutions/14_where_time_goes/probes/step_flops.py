"""Calls of `step_flops`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import NumbersByName

NAMES = ["weights", "attention"]


def call(step_flops: Callable, rank: CallRank, call: dict) -> NumbersByName:
    """One call, for one shape of model and batch."""
    return NumbersByName.of(step_flops(**call), NAMES)


PROBE = CallProbe(NumbersByName, call)
