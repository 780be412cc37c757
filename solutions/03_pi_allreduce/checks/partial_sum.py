"""The check of `partial_sum`: every midpoint once over all shares, fair shares, and the right value of each."""

import math

from autograde.contract.evidence import Number
from autograde.rubric import (
    CallCheck,
    Criterion,
    EachRankReturns,
    Mistakes,
    Words,
    changed,
    fair,
    first_of,
    float32,
    in_words,
    midpoints_once,
    share_mistakes,
)

from ..probes import partial_sum

ZERO = Number("float", True, 0.0)
FAILED = Number("an error", False, None)

words = Words("""
not-an-array: `f` is called with a value of type {refused}. It takes a float64 ndarray, of any shape.

raised: Your code raised an error: {error}

f-not-called: Your function never calls its argument `f`. The check passes other functions than the curve of this lab.

empty-rank: With {intervals:interval} on {size:rank}, rank {rank} has nothing to do, and {does}. What should such a rank
contribute, so that the others can go on?
""")


def shares(call):
    return call.seen[0].shares


def points(call):
    return [share.points for share in shares(call)]


def sums(call):
    """By rank, the sum of f over its points."""
    a, b, c = call.arguments["coefficients"]
    return [math.fsum(a + x * (b + x * c) for x in own if x is not None) for own in points(call)]


def areas(call):
    return [each / call.arguments["intervals"] for each in sums(call)]


def of_busy_ranks(call):
    """By rank, what it returns; that of a rank without midpoints is taken for right."""
    return [(share.value or FAILED) if share.points else ZERO for share in shares(call)]


def of_idle_ranks(call):
    return [ZERO if share.points else share.value or FAILED for share in shares(call)]


def each_midpoint(call):
    """f is called at each midpoint, once, as it wants to be called."""
    intervals, every = call.arguments["intervals"], shares(call)
    if refused := next((share.refused for share in every if share.refused and share.error), ""):
        if "float32" in refused:
            return float32(f"`f` is called with a value of type {refused}")
        return words("not-an-array", refused=refused)
    if errors := [share.error for share in every if share.error and (share.points or intervals >= len(every))]:
        return words("raised", error=errors[0])
    return midpoints_once(intervals, points(call)) if any(share.used for share in every) else words("f-not-called")


def nothing_to_do(call):
    for rank, (share, value) in enumerate(zip(shares(call), of_idle_ranks(call), strict=True)):
        if value.value != 0:
            does = f"raises {share.error}" if share.error else f"returns {in_words(value)}"
            return words("empty-rank", rank=rank, does=does, **call.arguments)
    return None


def more_ranks(arguments):
    return arguments["intervals"] < arguments["size"]


def cases(rng):
    """Splits that divide evenly and others; more ranks than intervals; more ranks than this world has."""
    splits = [(rng.randint(5, 30), 1), (2 * rng.randint(5, 20) + 1, 2), (3 * rng.randint(4, 12) + 2, 3)]
    splits += [(4 * rng.randint(3, 9) + rest, 4) for rest in (0, 2, 3)]
    splits += [(7 * rng.randint(2, 5) + 4, 7), (5 * rng.randint(200, 400) + 3, 5), (6, 6), (3, 4), (1, 4), (2, 7)]
    coefficients = [[round(rng.uniform(0.5, 2), 3) for _ in range(3)] for _ in splits]
    about = zip(splits, coefficients, strict=True)
    return [(None, *({"intervals": n, "size": size, "coefficients": each} for (n, size), each in about))]


WIDTHS = Mistakes(
    """
    local-h: You divide by the number of one rank's intervals. How wide is an interval when *all* of them cut [0, 1]?

    h-forgotten: A rank returns the sum of its f(x_i), which are heights: {actual:.6g}, where {expected:.6g} is
    expected. What makes areas of them?
    """,
    changed(
        local_h=lambda call: [each / max(1, len(own)) for each, own in zip(sums(call), points(call), strict=True)],
        h_forgotten=sums,
    ),
)
VALUE = EachRankReturns(areas, of_busy_ranks)
NOTHING = EachRankReturns(lambda call: [0.0] * len(shares(call)), of_idle_ranks)
ONCE = "over all ranks, f is called at each midpoint x_i exactly once (rounding aside)"
SUM = "a rank returns h times the sum of its f(x_i), a float (numpy's float64 is one)"
ZEROS = "a rank without a midpoint returns 0.0"
CHECK = CallCheck.of(
    "partial_sum",
    partial_sum.PROBE,
    cases,
    Criterion("midpoints", 1.5, ONCE, each_midpoint, share_mistakes(points)),
    Criterion("value", 0.5, SUM, VALUE, WIDTHS, after=("midpoints",)),
    Criterion(
        "fair",
        0.5,
        "the shares differ by at most one midpoint",
        lambda call: fair(points(call)),
        after=("midpoints",),
    ),
    Criterion(
        "nothing-to-do", 0.5, ZEROS, first_of(nothing_to_do, NOTHING), on=more_ranks, after=("midpoints", "value")
    ),
    inputs=("intervals", "size"),
    repeats=False,  # each call has another split
    fits=lambda case, call, seen: len(seen.shares) == call["size"],
    consolidation="Blocks or strides: both are right, as each midpoint goes to exactly one rank. Strides balance work "
    "that grows with the index, and blocks keep neighbours together.",
)
