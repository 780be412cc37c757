"""Calls of `costs`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    """The numbers by the plans' names, as far as they are there. kind: empty, or what came in place of a dict."""

    kind: str
    costs: dict[str, Number]


def call(costs: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; `names` are the plans'."""
    value = costs(**{name: call[name] for name in ("size", "nbytes", "alpha", "beta")})
    if not isinstance(value, dict):
        return Seen(type_in_words(value), {})
    return Seen("", {name: Number.of(value[name]) for name in call["names"] if name in value})


PROBE = CallProbe(Seen, call)
