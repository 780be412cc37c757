"""Calls of `late_rank`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number, Values, unjudged
from course.profiles.spans import Span


class Late(Evidence):
    """What was returned for a collective: the last rank, and how long each rank waits for it."""

    rank: Number
    waits: Values


@unjudged(kind="it chooses words where a list is missing")
class Seen(Evidence):
    """What was returned. kind: empty, or what came in place of a list, in words."""

    kind: str
    collectives: list[Late]


def of_pair(value: Any, ranks: int) -> Late:
    """What stands for one collective; anything. ranks: how many there are."""
    try:
        rank, waits = value
    except Exception:  # whatever it raises, it is no pair
        rank, waits = value, None
    return Late(Number.of(rank), Values.of(waits, ranks))


def call(late_rank: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with the collectives of each rank."""
    name = "gloo:all_reduce"
    traces = [[Span("communication", start, end, name) for start, end in own] for own in call["traces"]]
    result = late_rank(traces)
    if not isinstance(result, (list, tuple)):
        return Seen(type_in_words(result), [])
    return Seen("", [of_pair(each, len(traces)) for each in itertools.islice(result, len(traces[0]) + 1)])


PROBE = CallProbe(Seen, call)
