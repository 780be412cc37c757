"""Calls of `partial_sum`: for every rank of a split one after the other, all on one rank, as it needs no other."""

from __future__ import annotations

import math
from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number, unjudged
from course.models.midpoints import recorded


@unjudged(refused="it chooses words")
class Share(Evidence):
    """The share of one rank.

    points: those at which f was called; None for one that is not finite. refused: the kind of an argument that f does
    not take. error: what was raised. value: what was returned, if nothing was raised.
    """

    used: bool
    points: list[float | None]
    refused: str
    error: str
    value: Number | None


class Seen(Evidence):
    """The shares of all ranks of a split."""

    shares: list[Share]


def call(partial_sum: Callable, rank: CallRank, call: dict) -> Seen:
    """One split."""
    return Seen([share(partial_sum, rank, call, number) for number in range(call["size"])])


def share(partial_sum: Callable, rank: CallRank, call: dict, number: int) -> Share:
    """The share of rank `number`."""
    a, b, c = call["coefficients"]
    record = {"used": False, "points": [], "refused": ""}
    f, error, value = recorded(lambda x: a + x * (b + x * c), record), "", None
    try:
        value = Number.of(partial_sum(f, call["intervals"], number, call["size"]))
    except NotImplementedError:
        raise
    except Exception as raised:
        error = rank.in_words(raised)
    points = [x if math.isfinite(x) else None for x in record["points"]]
    return Share(record["used"], points, record["refused"], error, value)


PROBE = CallProbe(Seen, call, deadline=20)
