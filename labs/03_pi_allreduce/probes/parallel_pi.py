"""Calls of `parallel_pi` in each library: what it returns, its points, and the shares that it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number, judged_in_places, unjudged
from autograde.probes.simulated_node import simulated_node
from course.models.midpoints import midpoints, recorded

from ..shared.parts import curve_of_check, share_of, weights_of

CURVE = "curve_without_record"


@unjudged(used="who calls no f and asks for no share is judged by what it reduces")
@judged_in_places(shares="a rank may ask for a share without midpoints, or not")
class Seen(Evidence):
    """One call on one rank.

    value: what it returned. used: whether f was called. points: at which; None for one that is not finite. shares:
    [intervals, rank, size] of each call of `partial_sum`.
    """

    value: Number
    used: bool
    points: list[float | None]
    shares: list[tuple[int, int, int]]


def names(rank: CallRank, case: dict) -> dict[str, Callable]:
    """`f`, and a `partial_sum` whose parts have sizes of the call's own: right together, and no model for an answer.
    Both keep a record."""
    f = recorded(curve_of_check, rank.notes)
    vars(f)[CURVE] = curve_of_check  # a cell may get a copy of it, which has the mark, too

    def part(function: Callable, intervals: int, number: int, size: int) -> float:
        weights = rank.notes["weights"]
        rank.notes["shares"].append((int(intervals), int(number), int(size)))
        of = getattr(function, CURVE, function)
        whole = math.fsum(of(np.array(midpoints(intervals)))) / max(1, intervals)
        known = size == len(weights) and 0 <= number < size
        return float(whole * (share_of(weights, intervals, number) if known else 1 / size))

    return {"f": f, "partial_sum": lambda f, intervals, rank, size: part(f, intervals, rank, size)}


def call(function: Callable, rank: CallRank, call: dict) -> Seen:
    """Call the function on simulated nodes of `local_size` ranks each; mpi4py's has a communicator."""
    notes = rank.notes
    notes.update(used=False, points=[], shares=[], weights=weights_of(call["seed"], rank.size))
    with simulated_node(rank.rank % call["local_size"], call["local_size"]):
        value = function(*[rank.comm] * call["with_comm"], call["intervals"])
    points = [x if math.isfinite(x) else None for x in notes["points"]]
    return Seen(Number.of(value), notes["used"], points, notes["shares"])


PROBES = {
    "parallel_pi": CallProbe(Seen, call, names),
    "parallel_pi_torch": CallProbe(Seen, call, names, needs="torch"),
    "parallel_pi_horovod": CallProbe(Seen, call, names, needs="horovod"),
}
