"""The midpoint rule on several ranks: its points, and a record of who asks for which."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np


def midpoints(intervals: int, which: Iterable[int] | None = None) -> list[float]:
    """The middle of each of `intervals` equal intervals of [0, 1], or of those numbered in `which`, from 0."""
    return [(i + 0.5) / intervals for i in (range(intervals) if which is None else which)]


def interval_numbers(intervals: int, points: Iterable[float]) -> list[int]:
    """The number of the interval that each point is nearest the middle of; outside [0, 1] it goes on counting."""
    return [round(x * intervals - 0.5) for x in points]


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
