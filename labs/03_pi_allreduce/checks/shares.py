"""Verdicts on the shares of a sum over midpoints: each point once, by some rank, and none has much more to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.numbers import SINGLE, single_precision
from course.models.midpoints import interval_numbers

KNOWN = frozenset({"everything-on-every-rank", "remainder-lost", "local-h", "float32"})  # those that are diagnosed

finding = Findings("""
not-midpoints 3
{bad} of the {all} points given to f are not the middle of any interval. Where is the middle of interval i?

local-h 3
The width h is computed from the number of one rank's intervals. How wide is an interval when *all* of them cut [0, 1]?

h-twice 2
The ranks return {actual:.6g}: the integral, divided by the number of intervals. The width h is in what `partial_sum`
gives already.

everything-on-every-rank 3
Each of {size} ranks evaluates the whole integral, which takes as long as on one rank alone. Which part is a rank's own?

overlapping-shares 2
On {size} ranks, {twice} are evaluated more than once, so their area counts too often. Where does a share end?

local-rank-for-share 2
The run is on several nodes of {local_size} ranks, and each rank takes the share of its local rank. Local ranks are
numbered anew on each node, so some shares are added twice and others never.

no-such-share 2
A rank asks `partial_sum` for the share of rank {rank} of {size}. Ranks are numbered from 0 to {last}.

remainder-lost 2
On {size} ranks, nobody evaluates {n} of the midpoints. As many are left over when the intervals are divided by the
ranks.

points-missing 2
On {size} ranks, nobody evaluates {n} of the midpoints. Their area is missing.

unbalanced 1
On {size} ranks, one rank evaluates {most} midpoints and another {least}, and all wait for the slowest. The shares can
be fairer.
""")


def diagnosis(explained: Iterable[Finding], otherwise: Finding) -> Diagnosis:
    """That something is wrong, and which mistakes explain it; all other known ones do not."""
    likely = tuple(explained)
    return Diagnosis("points", likely, KNOWN - {each.key for each in likely}, otherwise)


def by_own_width(points: Sequence[Sequence[float]]) -> list[Finding]:
    """A finding if the points of each rank are midpoints of as many intervals as it has, by itself, of [0, 1]."""
    fits = len(points) > 1 and all(abs(x * len(of_rank) % 1 - 0.5) < 1e-6 for of_rank in points for x in of_rank)
    return [finding("local-h")] if fits else []


def other_points(intervals: int, points: Sequence[Sequence[float | None]]) -> list[Finding | Diagnosis]:
    """What is wrong with points that are no midpoints.

    points: x values that each rank evaluated, None for one that is not finite.
    """
    flat = [x for of_rank in points for x in of_rank]
    if strange := sum(x is None or not math.isfinite(x) for x in flat):
        return [finding("not-midpoints", bad=strange, all=len(flat))]
    index = interval_numbers(intervals, flat)
    off = [abs(x - (i + 0.5) / intervals) if 0 <= i < intervals else 1.0 for x, i in zip(flat, index, strict=True)]
    if max(off, default=0) <= 1e-9:
        return []
    explained = by_own_width(points)
    if max(off) < SINGLE:
        explained.append(single_precision(f"Points given to f lie {max(off):.0e} beside the midpoints"))
    return [diagnosis(explained, finding("not-midpoints", bad=sum(far > 1e-9 for far in off), all=len(flat)))]


def unfair_points(intervals: int, points: Sequence[Sequence[float]]) -> list[Finding | Diagnosis]:
    """What is wrong with who evaluated which midpoints: each is expected once, in fair shares. points: by rank."""
    size, shares = len(points), [interval_numbers(intervals, of_rank) for of_rank in points]
    counts = Counter(i for of_rank in shares for i in of_rank)
    if twice := sum(n > 1 for n in counts.values()):
        whole = size > 1 and all(len({*of_rank}) == intervals for of_rank in shares)
        explained = [finding("everything-on-every-rank", size=size)] if whole else []
        explained += by_own_width(points)
        return [diagnosis(explained, finding("overlapping-shares", size=size, twice=f"{twice} midpoints"))]
    if missing := intervals - len(counts):
        lost = [finding("remainder-lost", size=size, n=missing)] if missing == intervals % size else []
        return [diagnosis(lost, finding("points-missing", size=size, n=missing))]
    most, least = max(map(len, points)), min(map(len, points))
    return [finding("unbalanced", size=size, most=most, least=least)] if most - least > 1 else []


def unfair_shares(intervals: int, asked: Sequence[Sequence[Sequence[int]]], local_size: int) -> list[Finding]:
    """What is wrong with the shares that ranks asked of a `partial_sum`: each exists, none is asked for twice, and no
    rank asks for all of them.

    asked: shares [intervals, rank, size], one list a rank. local_size: ranks on each node.
    """
    size, flat = len(asked), [tuple(share) for of_rank in asked for share in of_rank]
    if strange := [(rank, k) for _, rank, k in flat if k > 0 and not 0 <= rank < k]:
        rank, k = strange[0]
        return [finding("no-such-share", rank=rank, size=k, last=k - 1)]
    if any(share[0] != intervals for share in flat):
        return [finding("local-h")]
    if size > 1 and all(sum(1 / k for _, _, k in of_rank if k > 0) > 0.999 for of_rank in asked):
        return [finding("everything-on-every-rank", size=size)]
    if twice := len(flat) - len({*flat}):
        local = [[[intervals, rank % local_size, size]] for rank in range(size)]
        if [[[*share] for share in of_rank] for of_rank in asked] == local:
            return [finding("local-rank-for-share", local_size=local_size)]
        return [finding("overlapping-shares", size=size, twice=f"{twice} shares")]
    return []
