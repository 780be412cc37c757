"""Judges of shares of a sum over midpoints: each midpoint once, by some rank, and none has much more to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from autograde.rubric.judge import Call
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.values.numbers import SINGLE, float32
from autograde.rubric.words import Ranks, Words, Wrong
from course.models.midpoints import interval_numbers

Points = Sequence[Sequence[float | None]]  # by rank; None for one that is not finite

words = Words("""
not-midpoints: {bad} of the {all:point} at which f is called are not the middle of any interval. Where is the middle of
interval i?

overlapping-shares: On {size:rank}, {twice:midpoint} are evaluated more than once, so their area counts too often. Where
does a share end?

points-missing: On {size:rank}, nobody evaluates {missing} of the midpoints. Their area is missing.

unbalanced: On {size:rank}, one rank evaluates {most:midpoint} and another {least}, and all wait for the slowest. The
shares can be fairer.
""")

KNOWN = """
everything-on-every-rank: Each of {size:rank} evaluates the whole integral, which takes as long as on one rank alone.
Which part is a rank's own?

local-h: The width h is computed from the number of one rank's intervals. How wide is an interval when *all* of them cut
[0, 1]?

idle-ranks: {who:does|do} all of the work, and {idle} nothing. There is work for all of them. Which part of it is
whose?

remainder-lost: On {size:rank}, nobody evaluates {missing} of the midpoints. As many are left over when the intervals
are divided by the ranks.
"""


def distance(intervals: int, x: float | None) -> float:
    """How far a point is from the middle of its interval; 1 where there is no such interval."""
    if x is None:
        return 1.0
    [number] = interval_numbers(intervals, [x])
    return abs(x - (number + 0.5) / intervals) if 0 <= number < intervals else 1.0


def midpoints_once(intervals: int, points: Points) -> Wrong | None:
    """Of points by rank: each midpoint is among them, once, and nothing else is."""
    size, off = len(points), [distance(intervals, x) for of_rank in points for x in of_rank]
    if bad := sum(far > 1e-9 for far in off):
        if max(off) < SINGLE.relative:
            return float32(f"Points at which f is called lie {max(off):.0e} beside the midpoints")
        return words("not-midpoints", bad=bad, all=len(off))
    counts = Counter(number for of_rank in points for number in interval_numbers(intervals, of_rank))
    if twice := sum(times > 1 for times in counts.values()):
        return words("overlapping-shares", size=size, twice=twice)
    missing = intervals - len(counts)
    return words("points-missing", size=size, missing=missing) if missing else None


def fair(points: Points) -> Wrong | None:
    """Of points by rank: no rank has two more than another."""
    most, least = max(map(len, points)), min(map(len, points))
    return words("unbalanced", size=len(points), most=most, least=least) if most - least > 1 else None


def share_mistakes(points_of: Callable[[Call], Points], text: str = "", **signs: Callable) -> Mistakes:
    """Mistakes of those who share the points out. points_of: of a call, at which points each rank called f. text,
    signs: further mistakes, see `Mistakes`."""

    def everything(call: Call) -> dict | None:
        intervals, points = call.arguments["intervals"], points_of(call)
        if len(points) < 2:
            return None
        whole = all(len({*interval_numbers(intervals, finite(of_rank))}) == intervals for of_rank in points)
        return {"size": len(points)} if whole else False

    def by_its_own_width(call: Call) -> bool | None:
        points = points_of(call)
        if len(points) < 2 or any(x is None for of_rank in points for x in of_rank):
            return None
        fits = (abs(x * len(of_rank) % 1 - 0.5) < 1e-6 for of_rank in points for x in of_rank)
        return sum(map(bool, points)) > 1 and all(fits)

    def idle(call: Call) -> dict | bool | None:
        intervals, points = call.arguments["intervals"], points_of(call)
        if not 1 < len(points) <= intervals:
            return None
        at_work = [rank for rank, of_rank in enumerate(points) if of_rank]
        others = Ranks(rank for rank in range(len(points)) if rank not in at_work)
        return {"who": Ranks(at_work), "idle": others} if len(at_work) == 1 else False

    def remainder(call: Call) -> bool | None:
        intervals, points = call.arguments["intervals"], points_of(call)
        lost = intervals - sum(map(len, points))
        wrong = midpoints_once(intervals, points)
        alone = wrong is not None and wrong.key == "points-missing"
        return {"missing": lost} if alone and lost == intervals % len(points) else False

    common = {"everything_on_every_rank": everything, "local_h": by_its_own_width, "idle_ranks": idle}
    return Mistakes(KNOWN + text, **common, remainder_lost=remainder, **signs)


def finite(points: Sequence[float | None]) -> list[float]:
    """Those that are numbers."""
    return [x for x in points if x is not None and math.isfinite(x)]
