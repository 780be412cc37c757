"""Calls of `local_place`."""

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Values


class Seen(Evidence):
    """The local rank and the local size."""

    pair: Values


def call(local_place, rank, call):
    """One call; `hosts` are the nodes' names by rank."""
    return Seen(Values.of(local_place(rank.comm, call["hosts"][rank.rank]), 2))


PROBE = CallProbe(Seen, call)
