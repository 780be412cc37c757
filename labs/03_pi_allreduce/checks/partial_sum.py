"""The check of `partial_sum`."""

from __future__ import annotations

import math
import random

from autograde.contract.evidence import Number
from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    EachRankReturns,
    Gives,
    Mistakes,
    Words,
    Wrong,
    fair,
    float32,
    midpoints_once,
    share_mistakes,
)
from autograde.rubric.judges.numbers import words as of_numbers

from ..probes import partial_sum as probe

words = Words("""
not-an-array: `f` is called with a value of type {refused}. It takes a float64 ndarray, of any shape.

raised: Your code raised an error: {error}

f-not-called: Your function never calls its argument `f`. The check passes other functions than the curve of this lab.

empty-rank: With {intervals:interval} on {size:rank}, rank {rank} has nothing to do, and {does}. What should such a rank
contribute, so that the others can go on?
""")


def points_of(call: Call) -> list[list[float | None]]:
    """The points of each share."""
    return [share.points for share in call.seen[0].shares]


def with_points(call: Call) -> list[probe.Share]:
    """The shares that have points."""
    return [share for share in call.seen[0].shares if share.points]


def area(call: Call, points: list[float | None]) -> float:
    """The sum of f over some points."""
    a, b, c = call.arguments["coefficients"]
    return math.fsum(a + x * (b + x * c) for x in points if x is not None)


def each_midpoint(call: Call) -> Wrong | None:
    """f is called at each midpoint, once, as it wants to be called."""
    shares, intervals = call.seen[0].shares, call.arguments["intervals"]
    if refused := next((share.refused for share in shares if share.refused and share.error), ""):
        if "float32" in refused:
            return float32(f"`f` is called with a value of type {refused}")
        return words("not-an-array", refused=refused)
    if errors := [share.error for rank, share in enumerate(shares) if share.error and intervals >= len(shares)]:
        return words("raised", error=errors[0])
    if not any(share.used for share in shares):
        return words("f-not-called")
    return midpoints_once(intervals, points_of(call))


def nothing_to_do(call: Call) -> Wrong | None:
    """A rank without a midpoint returns 0.0."""
    for rank, share in enumerate(call.seen[0].shares):
        value = share.value or Number("", False, None)
        if share.points or (value.is_float and value.value == 0):
            continue
        if not share.error and value.value == 0:
            return of_numbers("not-a-float", rank=rank, size=call.arguments["size"], kind=value.kind)
        returns = "returns no finite number" if value.value is None else f"returns {value.value:.6g}"
        does = f"raises {share.error}" if share.error else returns
        return words("empty-rank", rank=rank, does=does, **call.arguments)
    return None


def more_ranks(arguments: dict) -> bool:
    """Whether there are more ranks than intervals."""
    return arguments["intervals"] < arguments["size"]


VALUE = EachRankReturns(
    expected=lambda call: [area(call, share.points) / call.arguments["intervals"] for share in with_points(call)],
    value=lambda call: [share.value or Number("an error", False, None) for share in with_points(call)],
)
WIDTHS = Mistakes(
    """
    local-h: You divide by the number of one rank's intervals. How wide is an interval when *all* of them cut [0, 1]?

    h-forgotten: A rank returns the sum of its f(x_i), which are heights: {actual:.6g}, where {expected:.6g} is
    expected. What makes areas of them?
    """,
    local_h=lambda call: Gives([area(call, share.points) / len(share.points) for share in with_points(call)]),
    h_forgotten=lambda call: Gives([area(call, share.points) for share in with_points(call)]),
)


class PartialSum(CallCheck):
    """Every midpoint once over all shares, fair shares, and the right value of each."""

    todo, probe = "partial_sum", probe.PROBE
    inputs = ("intervals", "size")
    criteria = (
        Criterion(
            "midpoints",
            1.5,
            "over all ranks, f is called at each midpoint x_i exactly once (rounding aside)",
            each_midpoint,
            share_mistakes(points_of),
        ),
        Criterion(
            "value",
            0.5,
            "a rank returns h times the sum of its f(x_i), a float (numpy's float64 is one)",
            VALUE,
            WIDTHS,
            after=("midpoints",),
        ),
        Criterion(
            "fair",
            0.5,
            "the shares differ by at most one midpoint",
            lambda call: fair(points_of(call)),
            after=("midpoints",),
        ),
        Criterion(
            "nothing-to-do",
            0.5,
            "a rank without a midpoint returns 0.0",
            nothing_to_do,
            on=more_ranks,
            after=("midpoints", "value"),
        ),
    )
    consolidation = (
        "Blocks or strides: both are right, as each midpoint goes to exactly one rank. Strides balance work that "
        "grows with the index, and blocks keep neighbours together."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Splits that divide evenly and others; more ranks than intervals; more ranks than this world has."""
        splits = [(rng.randint(5, 30), 1), (2 * rng.randint(5, 20) + 1, 2), (3 * rng.randint(4, 12) + 2, 3)]
        splits += [(4 * rng.randint(3, 9) + rest, 4) for rest in (0, 2, 3)]
        splits += [(7 * rng.randint(2, 5) + 4, 7), (5 * rng.randint(200, 400) + 3, 5), (6, 6), (3, 4), (1, 4), (2, 7)]
        calls = [
            {"intervals": n, "size": size, "coefficients": [round(rng.uniform(0.5, 2), 3) for _ in range(3)]}
            for n, size in splits
        ]
        return [{"calls": calls}]


CHECK = PartialSum()
