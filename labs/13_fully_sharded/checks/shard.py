"""The check of `shard`: which rows a rank keeps, and in what memory."""

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Same,
    Words,
    alike,
    argument_unchanged,
    changed,
    first_of,
    memory_not_shared,
    of_seen,
    on_ranks,
    result_stays,
)

from ..probes import shard
from ..shared.values import drawn, rows_of
from .freed_memory import died

words = Words("""
holds-more-than-its-rows: What {who:returns|return} needs {needed:byte}, and behind it are {held:byte} of memory. A
slice, and what is made of one without a copy, keeps all of the memory that it was cut from.

shard-with-a-graph: What {who:returns|return} has autograd's graph behind it, which leads to the parameter. A shard is a
tensor of its own, which knows nothing of where it comes from.
""")


def whole(call):
    return drawn(call.arguments["seed"], call.arguments["shape"], call.arguments["dtype"]).numpy()


def filled(rows, count):
    """These rows, and zeros behind them."""
    return np.concatenate([rows, np.zeros((max(0, count - len(rows)), *rows.shape[1:]), rows.dtype)])


def pieces(values, size, short=False):
    """By rank, its shard of an array. short: without what fills it up."""
    count = rows_of(len(values), size)
    own = [values[rank * count : (rank + 1) * count] for rank in range(size)]
    return own if short else [filled(each, count) for each in own]


def right_but_behind(seen, due, n, rank):
    """Whether this array of a rank is the due one in all rows but those behind the last of n."""
    entries = due[: max(0, n - rank * len(due))].ravel()
    return seen.shape == [*due.shape] and alike(seen.entries[: entries.size], entries)


def shards(call, short=False):
    return pieces(whole(call), call.size, short)


def behind(call):
    """Whether all rows are right but those that fill up."""
    n = call.arguments["shape"][0]
    return all(
        right_but_behind(seen, due, n, rank)
        for rank, (seen, due) in enumerate(zip(call.of("result"), shards(call), strict=True))
    )


def unequal(call):
    return np.array_split(whole(call), call.size)


def own_memory(call):
    for rank, seen in enumerate(call.seen):
        itemsize = np.dtype(seen.result.dtype or "float64").itemsize
        if seen.memory > (needed := int(np.prod(seen.result.shape)) * itemsize):
            return words.on_ranks("holds-more-than-its-rows", [rank], needed=needed, held=seen.memory)
    return words.on_ranks("shard-with-a-graph", [rank for rank, seen in enumerate(call.seen) if seen.graph])


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

    not-zero-behind-the-last-row: Behind the parameter's last row, shards hold something else than zeros. Whoever adds
    up, or computes a norm, takes that for weights.
    """,
    changed(
        shards,
        shards_of_unequal_length=[
            unequal,
            lambda call: [filled(each, rows_of(call.arguments["shape"][0], call.size)) for each in unequal(call)],
        ],
        rows_left_out=lambda call: [
            whole(call)[rank * (n := len(whole(call)) // call.size) :][:n] for rank in range(call.size)
        ],
        rows_in_turns=lambda call: [
            filled(whole(call)[rank :: call.size], rows_of(len(whole(call)), call.size)) for rank in range(call.size)
        ],
        shards_not_filled_up={"short": True},
        entries_cut=lambda call: pieces(whole(call).ravel(), call.size),
        whole_parameter_kept=whole,
    ),
    not_zero_behind_the_last_row=behind,
)
ROWS = "it has rows rank * c to rank * c + c - 1 of the parameter, and zeros where there are none"


def one_call(rng, *shape, dtype="float64"):
    return {"shape": [*shape], "dtype": dtype, "seed": rng.getrandbits(32)}


def cases(rng):
    """Rows that do and do not divide evenly, fewer rows than ranks; one dimension and three."""
    last = one_call(rng, rng.choice((6, 9, 11)), 2, 2, dtype="float32")
    yield 4, one_call(rng, 8, 3), one_call(rng, 5, 2), one_call(rng, 3), last, one_call(rng, 1, 3)
    yield 3, one_call(rng, 7), one_call(rng, 5, 2)
    yield 1, one_call(rng, 4, 3)


CHECK = CallCheck.of(
    "shard",
    shard.PROBE,
    cases,
    Criterion("rows", 1, ROWS, Same(of_seen("result"), shards, on_ranks("the shard")), MISTAKES),
    Criterion(
        "memory",
        0.5,
        "it has memory of its own, for c rows and no more, and no graph behind it",
        first_of(own_memory, memory_not_shared, result_stays),
    ),
    Criterion("conduct", 0.25, "the parameter stays as it is", argument_unchanged),
    DeviceCriterion(0.25, "on a GPU, it is on the parameter's device"),
    consolidation="All shards have one shape, so one all-gather puts them together, and one reduce-scatter cuts.",
    inputs=("shape", "dtype"),
    broke_off=died,
    gpu_case=lambda rng: {"size": 2, "calls": [one_call(rng, 5, 2)]},
)
