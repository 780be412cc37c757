"""Calls of `memory_per_rank`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    """The numbers by name, as far as they are there. kind: empty, or what came in place of a dict."""

    kind: str
    parts: dict[str, Number]


def call(memory_per_rank: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; `names` are those of the parts."""
    value = memory_per_rank(call["parameters"], call["ranks"], call["stage"])
    if not isinstance(value, dict):
        return Seen(type_in_words(value), {})
    return Seen("", {name: Number.of(value[name]) for name in call["names"] if name in value})


PROBE = CallProbe(Seen, call)
