"""Calls of `chain`, with a `multiply` that counts."""

import numpy as np

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Array, Evidence, judged_in_places
from course.watch.notes import note

from ..shared.drawn import matrices

BEGINS = "multiply begins"  # a note among the events of a rank


@judged_in_places(counted="a rank may make fewer than its share at most")
class Seen(Evidence):
    """What a rank returned, and how many multiplications `multiply` made on it."""

    result: Array
    counted: int


def call(chain, rank, call):
    """One call: even ranks have B and C, odd ones E and F."""
    given, counts = matrices(call), []
    left, right = (given[name] for name in ("EF" if rank.rank % 2 else "BC"))
    for name, matrix in ("left", left), ("right", right):
        rank.argument(name, matrix)

    def multiply(one, two):
        if not counts:
            note(rank.comm, BEGINS)
        product = np.asarray(one) @ np.asarray(two)
        counts.append(one.shape[0] * one.shape[1] * two.shape[1])
        return product

    value = chain(rank.comm, multiply, left, right)
    return Seen(rank.returned(value), sum(counts))


PROBE = CallProbe(Seen, call)
