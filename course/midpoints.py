"""The midpoint rule on several ranks: its points, a record of who asks for which, and what is wrong with that."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np


def midpoints(intervals: int, which: Iterable[int] | None = None) -> list[float]:
    """The middle of each of `intervals` equal intervals of [0, 1], or of those numbered in `which`, from 0."""
    return [(i + 0.5) / intervals for i in (range(intervals) if which is None else which)]


def midpoint_sum(function: Callable[[float], float], intervals: int) -> float:
    """The midpoint rule for `function` on [0, 1], exact but for the rounding of its terms."""
    return math.fsum(function(x) for x in midpoints(intervals)) / intervals


def recorded(function: Callable[[np.ndarray], np.ndarray], record: dict) -> Callable[[np.ndarray], np.ndarray]:
    """`function`, for float64 arrays only, keeping a record of its calls.

    record: ``record["used"]`` becomes True, and ``record["points"]``, a list, gets each point that was asked for;
    ``record["refused"]`` gets the kind of an argument that is no float64 ndarray, for which TypeError is raised.
    """

    def f(x: np.ndarray) -> np.ndarray:
        if not isinstance(x, np.ndarray) or x.dtype != np.float64:
            kind = type(x).__name__
            record["refused"] = f"{kind} of {x.dtype}" if hasattr(x, "dtype") and kind != str(x.dtype) else kind
            raise TypeError(f"f takes an ndarray of float64; it was given a value of type {record['refused']}")
        record["used"] = True
        record["points"] += x.ravel().tolist()
        return function(x)

    return f


def numbers(intervals: int, points: Iterable[float]) -> list[int]:
    """The number of the interval that each point is nearest the middle of; outside [0, 1] it goes on counting."""
    return [round(x * intervals - 0.5) for x in points]


def mistakes(intervals: int, points: Sequence[Sequence[float | None]], single: float = 1e-5) -> list[tuple[str, dict]]:
    """What is wrong with the points that ranks evaluated: each midpoint once is due, in fair shares.

    points: x values, one list a rank, None for one that is not finite. single: how far a point may lie off for float32
    to be the reason.
    Returns names of mistakes, each with the numbers seen. Where points lie wrong, no others are looked for.
    """
    size, flat = len(points), [x for own in points for x in own]
    if strange := sum(x is None or not math.isfinite(x) for x in flat):
        return [("not-midpoints", {"bad": strange, "all": len(flat)})]
    index = numbers(intervals, flat)
    off = [abs(x - (i + 0.5) / intervals) if 0 <= i < intervals else 1.0 for x, i in zip(flat, index, strict=True)]
    if max(off, default=0) > 1e-9:
        if (
            size > 1
            and min(map(len, points)) > 1
            and all(abs(x * len(own) % 1 - 0.5) < 1e-6 for own in points for x in own)
        ):
            return [("local-h", {})]
        if max(off) < single:
            return [("float32", {"seen": f"Points given to f lie {max(off):.0e} beside the midpoints"})]
        return [("not-midpoints", {"bad": sum(far > 1e-9 for far in off), "all": len(flat)})]
    if intervals >= size > 1 and all(len(set(numbers(intervals, own))) == intervals for own in points):
        return [("everything-on-every-rank", {"size": size})]
    found: list[tuple[str, dict]] = []
    counts = Counter(index)
    if twice := sum(n > 1 for n in counts.values()):
        found.append(("overlapping-shares", {"size": size, "twice": f"{twice} midpoints"}))
    elif missing := intervals - len(counts):
        name = "remainder-lost" if missing == intervals % size else "points-missing"
        found.append((name, {"size": size, "n": missing}))
    most, least = max(map(len, points)), min(map(len, points))
    if not found and most - least > 1:
        found.append(("unbalanced", {"size": size, "most": most, "least": least}))
    return found


def share_mistakes(intervals: int, asked: Sequence[Sequence[Sequence[int]]]) -> list[tuple[str, dict]]:
    """What is wrong with the shares that ranks asked of a `partial_sum`: no share twice, no rank all of them.

    asked: shares [intervals, rank, size], one list a rank. Returns names of mistakes, each with the numbers seen.
    """
    size, flat = len(asked), [tuple(share) for own in asked for share in own]
    if any(share[0] != intervals for share in flat):
        return [("local-h", {})]
    if intervals >= size > 1 and all(sum(1 / k for _, _, k in own if k > 0) > 0.999 for own in asked):
        return [("everything-on-every-rank", {"size": size})]
    if twice := len(flat) - len(set(flat)):
        return [("overlapping-shares", {"size": size, "twice": f"{twice} shares"})]
    return []
