"""Calls of `learning_rate`."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    """What `rate` gives at the steps at which it is asked.

    kind: empty for a function, else what came instead. divides: whether it divides by zero where there is no warm-up.
    """

    kind: str
    rates: list[Number]
    divides: bool = False


def call(learning_rate: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; then the rates at the steps of the call."""
    try:
        rate = learning_rate(call["lr"], call["size"], call["warmup"])
        if not callable(rate):
            return Seen(type_in_words(rate), [])
        return Seen("", [Number.of(rate(step)) for step in call["steps"]])
    except ZeroDivisionError:
        if call["warmup"]:
            raise
        return Seen("", [], divides=True)


PROBE = CallProbe(Seen, call)
