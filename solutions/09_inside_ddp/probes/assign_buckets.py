"""Calls of `assign_buckets`, without ranks."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence

MOST = 50  # buckets, and indices in each, that are looked at


class Seen(Evidence):
    """buckets: as lists of numbers. kind: what came in their place, in words; empty if they are there. altered: whether
    the list of sizes has changed."""

    buckets: list[list[int]]
    kind: str
    altered: bool


def index_of(value: object) -> int | None:
    """A whole number, whatever it is made of; None for anything else, and for one that is no index."""
    try:
        index = None if isinstance(value, (bool, float, str)) else int(value.__index__())
    except (AttributeError, TypeError):
        return None
    return index if index is not None and abs(index) < 2**31 else None


def call(assign_buckets: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    sizes = [*call["sizes"]]
    value = assign_buckets(sizes, call["limit"])
    altered = sizes != call["sizes"]
    if isinstance(value, (list, tuple)) and all(isinstance(each, (list, tuple)) for each in value):
        buckets = [[index_of(index) for index in bucket[:MOST]] for bucket in value[:MOST]]
        if not any(index is None for bucket in buckets for index in bucket):
            return Seen(buckets, "", altered)
    return Seen([], type_in_words(value), altered)


PROBE = CallProbe(Seen, call)
