"""Calls of `swap`."""

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Array, Evidence
from autograde.probes.under_way import sends_under_way

from ..shared.drawn import array_of_rank


class Seen(Evidence):
    """What a rank returned."""

    result: Array


def call(swap, rank, call):
    own = rank.argument("array", array_of_rank(call, rank.rank))
    with sends_under_way(rank.comm) as comm:
        value = swap(comm, own)
    return Seen(rank.returned(value, array=own))


PROBE = CallProbe(Seen, call)
