"""Calls of the TODOs in which ranks exchange messages. What they may call of earlier TODOs is no model for an answer:
plans of a broadcast are written down for up to four ranks, and what stands in for the halves of an all-reduce sends no
messages. It gathers all arrays by a collective that is not recorded, and notes with what it was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_places
from autograde.fixtures.drawn_arrays import array_of
from autograde.probes.under_way import sends_under_way
from course.watch.recorder import unwatched

PLANS = {1: [], 2: [[(0, 1)]], 3: [[(0, 2)], [(2, 1)]], 4: [[(0, 3)], [(3, 1), (0, 2)]]}  # by ranks, for root 0


class Half(Evidence):
    """A call of one half: the shape of its array, the bytes of an entry, and the lengths of chunks, if it takes any."""

    shape: list[int]
    itemsize: int
    lengths: list[int] | None


@judged_in_places(halves="what they would send may be less than the most")
class Seen(Evidence):
    """What the call returned, and the halves that it called."""

    result: Array
    halves: list[Half]


def halves(rank: CallRank, case: dict) -> dict[str, Callable]:
    """`ring_reduce_scatter` and `ring_all_gather`."""

    def everybody(comm: Any, array: np.ndarray, lengths: list[int] | None = None) -> list[np.ndarray]:
        rank.notes["halves"].append(Half([*np.shape(array)], array.itemsize, lengths))
        return unwatched(type(comm).allgather)(comm, np.array(array))

    def ring_reduce_scatter(comm: Any, array: np.ndarray) -> np.ndarray:
        return np.array_split(sum(everybody(comm, array)), comm.size)[comm.rank].copy()

    def ring_all_gather(comm: Any, chunk: np.ndarray, lengths: list[int]) -> np.ndarray:
        gathered = everybody(comm, chunk, [*map(int, lengths)])
        if [*map(len, gathered)] != [*lengths]:
            raise ValueError(f"ring_all_gather is given lengths {[*lengths]}; the chunks have {[*map(len, gathered)]}")
        return np.concatenate(gathered)

    return {"ring_reduce_scatter": ring_reduce_scatter, "ring_all_gather": ring_all_gather}


def plans(rank: CallRank, case: dict) -> dict[str, Callable]:
    """`broadcast_rounds`, which knows plans of up to four ranks only."""

    def broadcast_rounds(size: int, root: int) -> list[list[tuple[int, int]]]:
        if size not in PLANS:
            raise ValueError(f"there are {rank.size} ranks; broadcast_rounds is asked for a plan of {size}")
        return [[((a + root) % size, (b + root) % size) for a, b in pairs] for pairs in PLANS[size]]

    return {"broadcast_rounds": broadcast_rounds}


def call(function: Callable, rank: CallRank, call: dict) -> Seen:
    """One call with this rank's array, and what else the function takes."""
    rank.notes["halves"] = []
    name = "chunk" if "lengths" in call else "array"
    mine = rank.argument(name, array_of(call, rank.rank))
    more = (
        [call["root"], getattr(np, call["op"])] if "op" in call else [[*call["lengths"]]] if "lengths" in call else []
    )
    with sends_under_way(rank.comm) as comm:
        value = function(comm, mine, *more)
    return Seen(rank.returned(value, **{name: mine}), rank.notes["halves"])


PROBES = {
    "tree_reduce": CallProbe(Seen, call, plans),
    "ring_reduce_scatter": CallProbe(Seen, call),
    "ring_all_gather": CallProbe(Seen, call),
    "ring_allreduce": CallProbe(Seen, call, halves),
}
