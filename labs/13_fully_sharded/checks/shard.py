"""The check of `shard`: which rows a rank keeps, and in what memory."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Mistakes,
    Ranks,
    Words,
    Wrong,
    argument_unchanged,
    first_of,
    memory_not_shared,
    result_stays,
)

from ..probes import shard as probe
from ..shared.values import drawn, rows_of

words = Words("""
holds-more-than-its-rows: What {who:returns|return} needs {needed:byte}, and behind it are {held:byte} of memory. A
slice, and what is made of one without a copy, keeps all of the memory that it was cut from.

shard-with-a-graph: What {who:returns|return} needs a gradient, as the parameter does. A shard is a tensor of its own,
which knows nothing of where it comes from.
""")


def whole(call: Call) -> np.ndarray:
    """The parameter."""
    return drawn(call.arguments["seed"], call.arguments["shape"]).numpy().astype(call.arguments["dtype"])


def filled(rows: np.ndarray, count: int) -> np.ndarray:
    """These rows, and zeros behind them."""
    return np.concatenate([rows, np.zeros((max(0, count - len(rows)), *rows.shape[1:]), rows.dtype)])


def shards(call: Call) -> list[np.ndarray]:
    """What each rank is to return."""
    values = whole(call)
    count = rows_of(len(values), call.size)
    return [filled(values[rank * count : (rank + 1) * count], count) for rank in range(call.size)]


def mistaken(call: Call) -> dict[str, Any]:
    """What known mistakes give, by key."""
    values, size = whole(call), call.size
    n, count, ranks = len(values), rows_of(len(values), size), range(size)
    unequal, entries = np.array_split(values, size), values.ravel()
    flat = rows_of(len(entries), size)
    return {
        "shards-of-unequal-length": (unequal, [filled(each, count) for each in unequal]),
        "rows-left-out": [values[rank * (n // size) : (rank + 1) * (n // size)] for rank in ranks],
        "rows-in-turns": [filled(values[rank::size], count) for rank in ranks],
        "shards-not-filled-up": [values[rank * count : (rank + 1) * count] for rank in ranks],
        "entries-cut": [filled(entries[rank * flat : (rank + 1) * flat], flat) for rank in ranks],
        "whole-parameter-kept": values,
    }


MISTAKES = Mistakes(
    """
    shards-of-unequal-length: Shares differ by a row, as `tensor_split` cuts them. All ranks' shards have to have the
    same shape, and one after the other they are the parameter: c rows each, and zeros only behind the last row.

    rows-left-out: Each rank keeps n // size rows. Who keeps those that are left over?

    rows-in-turns: Rank r keeps rows r, r + size, and so on. Its rows have to lie next to each other.

    shards-not-filled-up: Where the parameter has no more rows, the shard is shorter. It has c rows on every rank.

    entries-cut: The entries are shared out, not the rows: the shard has one dimension. It is to have as many as the
    parameter.

    whole-parameter-kept: Each rank keeps all rows.
    """,
    mistaken,
)


def own_memory(call: Call) -> Wrong | None:
    """No more memory than the rows need, and no graph."""
    for rank, seen in enumerate(call.seen):
        needed = int(np.prod(seen.result.shape)) * np.dtype(call.arguments["dtype"]).itemsize
        if seen.memory > needed:
            return words("holds-more-than-its-rows", who=Ranks([rank]), needed=needed, held=seen.memory)
    with_graph = [rank for rank, seen in enumerate(call.seen) if seen.graph]
    return words("shard-with-a-graph", who=Ranks(with_graph)) if with_graph else None


class Shard(CallCheck):
    """Rows that do and do not divide evenly, fewer rows than ranks; one dimension and three."""

    todo, probe = "shard", probe.PROBE
    inputs = ("shape", "dtype")
    consolidation = "All shards have one shape, so one all-gather puts them together, and one reduce-scatter cuts."
    criteria = (
        Criterion(
            "rows",
            1,
            "it has the parameter's rows from rank * c on, and zeros where there are none",
            EachRankReturnsArray(shards),
            MISTAKES,
        ),
        Criterion(
            "memory",
            0.6,
            "it has memory of its own, for c rows and no more, and no graph behind it",
            first_of(own_memory, memory_not_shared, result_stays),
        ),
        Criterion("conduct", 0.4, "the parameter stays as it is", argument_unchanged),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Four ranks to one."""

        def call(*shape: int, dtype: str = "float64") -> dict[str, Any]:
            return {"shape": [*shape], "dtype": dtype, "seed": rng.getrandbits(32)}

        by_size = {
            4: [call(8, 3), call(5, 2), call(3), call(rng.choice((6, 9, 11)), 2, 2, dtype="float32"), call(1, 3)],
            3: [call(7), call(5, 2)],
            1: [call(4, 3)],
        }
        return [{"size": size, "calls": calls} for size, calls in by_size.items()]


CHECK = Shard()
