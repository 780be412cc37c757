"""What the three TODOs of lab 03 share that add up pi on all ranks, each in one library."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from autograde.contract.calls import described
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, integer, numbers
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.simulated_node import simulated_node
from autograde.verdicts.collectives import one_allreduce, wrong_group
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.numbers import on_all
from autograde.verdicts.reductions import Due, carried
from course.models.midpoints import midpoint_sum, midpoints, recorded

from .shares import finding, other_points, unfair_points, unfair_shares

# Findings that leave a wrong result unexplained: it is looked at all the same.
ALSO = {"unbalanced", "allreduce-in-the-loop", "other-communication", "other-library", "too-many-bytes", "float32"}


# By so much, relative, what a student's code is given is off: less than counts as wrong, and more than rounding does.
# So the sum of what the ranks were given is told from one that each of them found by itself.
OFF = 5e-13
SINGLE = 1e-5  # relative; of so much, single precision is off at most


def curve(x: Any) -> Any:
    """What the lab integrates."""
    return 4.0 / (1.0 + x * x)


def given_curve(x: Any) -> Any:
    """The curve that a student's code is given."""
    return curve(x) * (1 + OFF)


def stand_in(weights: list[float], record: dict, given: Callable) -> Callable:
    """A `partial_sum` whose shares have sizes of the case's own: right together, and no model for an answer.

    As in any `partial_sum`, ranks for which there is no interval get nothing.
    """

    def partial_sum(f: Callable, intervals: int, rank: int, size: int) -> float:
        record["shares"].append([int(intervals), int(rank), int(size)])
        whole = math.fsum((given_curve if f is given else f)(np.array(midpoints(intervals)))) / max(1, intervals)
        known = size == len(weights) and 0 <= rank < size
        return float(whole * (share_of(weights, intervals, rank) if known else 1 / size))

    return partial_sum


def share_of(weights: list[float], intervals: int, rank: int) -> float:
    """The part of the whole that is a rank's, of 1: where there are fewer intervals than ranks, the last ranks have
    none."""
    busy = weights[: max(1, intervals)]
    return weights[rank] / math.fsum(busy) if rank < len(busy) else 0.0


class ParallelPi(CallCheck, JudgedCalls):
    """The same number on every rank by one reduction, each rank doing its share; in one of three libraries.

    todo: name of the function. library: "mpi4py", "torch" or "horovod". consolidation: see `Check`.
    """

    points = 3

    def __init__(self, todo: str, library: str, consolidation: str) -> None:
        self.todo, self.library, self.consolidation = todo, library, consolidation
        self.needs = None if library == "mpi4py" else library

    def draw(self, rng: random.Random, ranks: list[int], *intervals: int) -> dict:
        """A case with a call for each number of intervals."""
        parts = [rng.uniform(0.5, 1.5) for _ in ranks]
        weights = [part / math.fsum(parts) for part in parts]
        calls = [{"library": self.library, "intervals": each, "local_size": 2} for each in intervals]
        return {"ranks": ranks, "calls": calls, "weights": weights}

    def cases(self, rng: random.Random) -> list[dict]:
        """All ranks; some in another order; called again, with fewer intervals than ranks; one rank."""

        def case(ranks: list[int], *intervals: int) -> dict:
            return {**self.draw(rng, ranks, *intervals), "late": rng.randrange(len(ranks))}

        some, n = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2], [2, 3, 0]]), rng.randint(10, 25)
        cases = [case([0, 1, 2, 3], 4 * n + 2), case(some, 3 * n + 2, 3 * n, 2)]
        cases += [case(some[:2], 2 * n + 1, 1), case(some[2:], n)]
        return cases

    def gpu_case(self, rng: random.Random) -> dict | None:
        """A call on two ranks with torch alone: what mpi4py and Horovod send may stay on the CPU."""
        return self.draw(rng, [0, 1], 4) if self.library == "torch" else None

    @staticmethod
    def given(rank: Rank, case: dict) -> dict[str, Callable]:
        """The curve and shares of it, which keep a record."""
        f = recorded(given_curve, rank.notes)
        return {"f": f, "partial_sum": stand_in(case["weights"], rank.notes, f)}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The result, and what it was made of, on simulated nodes of `local_size` ranks each."""
        record = rank.notes
        record.update(used=False, points=[], shares=[])
        arguments = [rank.comm] if call["library"] == "mpi4py" else []
        with simulated_node(rank.rank % call["local_size"], call["local_size"]):
            value = function(*arguments, call["intervals"])
        return {"value": described(value), **{name: record[name] for name in ("used", "points", "shares")}}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The result; points that f was given, and shares [intervals, rank, size] that were asked for."""
        shares = array(array(integer(), 3))
        return {"value": described_value(), "used": boolean(), "points": numbers(), "shares": shares}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Any, where there are fewer intervals than ranks."""
        return range(len(case["ranks"])) if plan["intervals"] < len(case["ranks"]) else ()

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The work, what was communicated, and results that these do not explain."""
        intervals, size, points, shares = call.plan["intervals"], call.size, call.of("points"), call.of("shares")
        expected = midpoint_sum(curve, intervals)
        if found := wrong_group(size, [k for of_rank in shares for _, _, k in of_rank]):
            return found
        brought = [(log[-1]["values"] or [None])[0] if log else None for log in call.events]
        if size > 1 and all(len(log) == 1 for log in call.events) and all(agree(each, expected) for each in brought):
            return [finding("everything-on-every-rank", size=size)]
        found = other_points(intervals, points) or (unfair_points(intervals, points) if any(call.of("used")) else [])
        right = all(agree(each["value"], expected) for each in call.of("value"))
        found += unfair_shares(intervals, shares, call.plan["local_size"])
        found += one_allreduce(self.library, call.events, right)
        if any(isinstance(each, Diagnosis) or each.key not in ALSO for each in found):
            return found
        candidates = {"own-part-only": brought, "average-for-sum": expected / size, "h-twice": expected / intervals}
        found += on_all(call.of("value"), expected, candidates, finding, empty=self.empty(case, call.plan))
        if not all(agree(each["value"], expected, SINGLE) for each in call.of("value")):
            return found
        seen = [own_parts(case["weights"], call)] if any(points) or any(shares) else []
        alone = expected if right else None  # in single precision, late digits tell nothing
        due = Due(call.of("value")[0]["value"], factors(call), least_share(intervals, size), alone)
        return found + carried(call.events, *seen, due=due)


def factors(call: Call) -> set[float]:
    """What a result may be, times what came out: an average undone, parts put in without the width or the curve's 4."""
    widths, sizes = (1.0, 1.0 / call.plan["intervals"]), (1.0, float(call.size), 1.0 / call.size)
    return {width * size * four for width in widths for size in sizes for four in (1.0, 4.0)}


def least_share(intervals: int, size: int) -> float:
    """The smallest share of the sum that a rank has; 0 where there may be ranks without an interval, as where shares
    are rounded up."""
    return min(0.05, 0.6 / intervals) if intervals >= size * (size - 1) else 0.0


def own_parts(weights: list[float], call: Call) -> list[float]:
    """By rank, the part of the sum that its points and its shares give."""
    intervals, whole = call.plan["intervals"], midpoint_sum(curve, call.plan["intervals"])
    by_points = [math.fsum(map(curve, of_rank)) / intervals for of_rank in call.of("points")]
    by_shares = [
        math.fsum(whole * share_of(weights, intervals, rank) for _, rank, _ in of_rank) for of_rank in call.of("shares")
    ]
    return [sum(both) for both in zip(by_points, by_shares, strict=True)]
