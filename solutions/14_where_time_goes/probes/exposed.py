"""Calls of `exposed`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import NumbersByName
from course.profiles.spans import Span

NAMES = ["computing", "hidden", "exposed", "idle"]


def call(exposed: Callable, rank: CallRank, call: dict) -> NumbersByName:
    """One call, with the spans of one rank, which are called by their kinds."""
    spans = [Span(kind, start, end, kind) for kind, start, end in call["spans"]]
    return NumbersByName.of(exposed(spans), NAMES)


PROBE = CallProbe(NumbersByName, call)
