"""What is drawn for a check: cases, in short or in full.

A case in full is a dict, see `autograde.contract.call_probe`. In short it is a tuple: where it runs, a number of ranks,
a list of them, or None for none, and then the arguments of one call after another. What the short form leaves out is
drawn here: a ``seed`` for each call, and, on several ranks, which one comes ``late``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

# What words of the library and of labs speak of by these names: an argument of the same name would silently be told in
# its place.
RESERVED = frozenset({"actual", "expected", "given", "rank", "where", "who"})


def completed(cases: Iterable[dict | Sequence], rng: random.Random) -> list[dict]:
    """All cases in full."""
    return [case if isinstance(case, dict) else in_full(*case, rng=rng) for case in cases]


def in_full(ranks: int | Sequence[int] | None, *calls: dict, rng: random.Random) -> dict:
    """A case in full. ranks: how many of the first ones, or which, in this order; None for a TODO without ranks."""
    size = 1 if ranks is None else ranks if isinstance(ranks, int) else len(ranks)
    place = {} if ranks is None else {"size": ranks} if isinstance(ranks, int) else {"ranks": [*ranks]}
    late = {"late": rng.randrange(size)} if size > 1 else {}
    return {**place, **late, "calls": [{"seed": rng.getrandbits(32), **call} for call in calls]}


def reserved(calls: Iterable[dict]) -> list[str]:
    """Names of arguments that no call may have."""
    return sorted({name for call in calls for name in call} & RESERVED)
