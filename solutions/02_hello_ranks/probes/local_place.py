"""Calls of `local_place`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence


class Seen(Evidence):
    """What a rank returned.

    pair: its two whole numbers, of Python's or another library; None for anything else. text: the value in words.
    """

    pair: tuple[int, int] | None
    text: str


def pair_of(value: Any) -> tuple[int, int] | None:
    """The two whole numbers in a value; None if it does not consist of these."""
    try:
        place, total = map(operator.index, value)
    except (TypeError, ValueError):
        return None
    return (place, total)


def call(local_place: Callable, rank: CallRank, call: dict) -> Seen:
    """One call; `hosts` are the nodes' names by rank."""
    value = local_place(rank.comm, call["hosts"][rank.rank])
    return Seen(pair_of(value), f"{value!r:.80}")


PROBE = CallProbe(Seen, call)
