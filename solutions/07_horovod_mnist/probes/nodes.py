"""The simulated nodes on which the functions of lab 07 are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autograde.contract.call_probe import CallRank
from autograde.probes.simulated_node import seeded_apart, simulated_node


@contextmanager
def on_node(rank: CallRank, local_size: int, **names: Any) -> Iterator[Callable]:
    """In this block, ranks are on nodes of `local_size` each, and have random numbers of their own.

    Gives the student's function from a cell that runs there, so that what it imports by name knows the node, too.
    names: what the cell finds.
    """
    with seeded_apart(rank.rank), simulated_node(rank.rank % local_size, local_size):
        yield rank.subject.salted(rank.rank).load(**names)
