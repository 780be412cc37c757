"""The check of `tree_reduce`."""

from __future__ import annotations

import random
from functools import reduce

import numpy as np

from autograde.rubric import (
    ArrayCheck,
    Call,
    Criterion,
    EachRankReturnsArray,
    Gives,
    Mistakes,
    Ranks,
    ToOneRank,
    Words,
    Wrong,
    alike,
    arrays,
    arrays_stay,
    first_of,
    some_of,
    traffic,
)
from autograde.rubric.judges.messages import (
    buffer_messages,
    late_arrival,
    may_be_kept,
    messages_alone,
    senders_to,
    some_message,
)

from ..probes.collectives import PROBES

words = Words("""
nothing-on-the-root: Rank {root} of {size} is the root and returns {kind}. It should have the result.

result-on-another-rank: The root is rank {root}, but it is rank {other} that has the result.

result-on-others-too: Rank {rank} is not the root and returns an array. None is expected there: what it has is not the
result.
""")


def op_of(call: Call) -> np.ufunc:
    """The operation."""
    return getattr(np, call.arguments["op"])


def combined(call: Call) -> np.ndarray:
    """What the root should return."""
    return reduce(op_of(call), arrays(call))


def on_the_root(call: Call) -> Wrong | None:
    """The root returns something, and nobody else has it in its place."""
    root, results = call.arguments["root"], call.of("result")
    if results[root].is_array:
        return None
    elsewhere = [rank for rank, each in enumerate(results) if each.is_array and alike(each.entries, combined(call))]
    if elsewhere:
        return words("result-on-another-rank", root=root, other=elsewhere[0])
    return words("nothing-on-the-root", root=root, size=call.size, kind=results[root].kind)


def none_elsewhere(call: Call) -> Wrong | None:
    """The other ranks return None, where the root has something."""
    root, results = call.arguments["root"], call.of("result")
    others = [rank for rank, each in enumerate(results) if rank != root and each.kind != "None"]
    return words("result-on-others-too", rank=others[0]) if others and results[root].is_array else None


def needs_messages(call: Call) -> bool:
    """Whether there is anything to send."""
    return call.size > 1 and 0 not in call.arguments["shape"]


def own_passed_on(call: Call) -> dict | bool | None:
    """The result is of the root and of those alone who send to it, while others send to these."""
    seen, root, brought = traffic(call.events), call.arguments["root"], arrays(call)
    direct = senders_to(seen, root)
    later = [(rank, [each for each in senders_to(seen, rank) if each != root]) for rank in direct]
    rank, sources = next((each for each in later if each[1]), (None, []))
    if rank is None:
        return None
    alone = alike(call.seen[root].result.entries, reduce(op_of(call), [brought[each] for each in (root, *direct)]))
    return {"rank": rank, "sources": Ranks(sources), "target": root} if alone else False


def left_out(call: Call) -> dict | bool:
    """The result combines the arrays of some ranks only."""
    ranks = some_of(call.seen[call.arguments["root"]].result.entries, arrays(call), op_of(call))
    return {"who": Ranks(ranks)} if ranks else False


MISTAKES = Mistakes(
    """
    sum-whatever-op: With `op` = np.{op}, the root returns the sum. Which function should combine two arrays?

    receives-after-it-sent: Rank {rank} sends its array to rank {target}, and only then receives one from rank {source}.
    What comes in so late reaches nobody. Who has to wait for whom?

    own-array-passed-on: Rank {rank} receives the array of {sources}, and what it then sends to rank {target} is its own
    array alone. What should it pass on?

    ranks-left-out: The root's result combines the arrays of {who} only. Those of the other ranks are not in it. Entries
    are sent as {dtype}: as what are they received?
    """,
    sum_whatever_op=lambda call: Gives(sum(arrays(call))) if call.arguments["op"] != "add" else None,
    receives_after_it_sent=late_arrival,
    own_array_passed_on=own_passed_on,
    ranks_left_out=left_out,
)
RESULT = first_of(
    messages_alone,
    on_the_root,
    EachRankReturnsArray(combined, ranks=lambda call: [call.arguments["root"]]),
    some_message(needs_messages),
)


class TreeReduce(ArrayCheck):
    """What the root has, and along which tree it got there."""

    todo, probe = "tree_reduce", PROBES["tree_reduce"]
    inputs = ("op", "shape", "dtype", "root")
    consolidation = (
        "A reduction is a broadcast run backwards, in log2 N rounds: each rank waits for all that is to come to it, "
        "combines, and sends once. What moves are whole arrays."
    )
    criteria = (
        Criterion(
            "result",
            1.25,
            "by messages between two ranks, the root gets `op` of all arrays",
            RESULT,
            MISTAKES,
            on=may_be_kept,
        ),
        Criterion(
            "tree",
            0.75,
            "each rank but the root sends one buffer message (Send, Recv, Sendrecv, Isend, Irecv), a whole array, "
            "in at most ceil(log2(size)) rounds",
            first_of(
                messages_alone,
                buffer_messages,
                some_message(needs_messages),
                ToOneRank(
                    root=lambda call: call.arguments["root"],
                    bytes=lambda call: arrays(call)[0].nbytes,
                ),
            ),
            on=may_be_kept,
        ),
        Criterion(
            "unbuffered",
            0.5,
            "it also works where each send waits for its receive",
            RESULT,
            on=lambda arguments: arguments["safe"],
            after=("result",),
        ),
        Criterion(
            "conduct",
            0.5,
            "`array` stays as it is; the result is a new array, which stays, too; other ranks return None",
            first_of(none_elsewhere, arrays_stay),
            on=may_be_kept,
        ),
    )

    tried = (  # roots in every place, counted from 0 or, below it, from the end
        [
            *(("add", [8], "float64", -1), ("maximum", [3, 4], "int64", 1)),
            *(("add", [3, 4], "int64", 0), ("multiply", [8], "float32", 2)),
        ],
        [("minimum", [8], "float64", -1), ("add", [3, 4], "float32", 0), ("add", [0], "int64", 1)],
        [("multiply", [3, 4], "int64", -1), ("add", [8], "float64", 0)],
        [("add", [8], "float64", 0)],
        [("add", [3, 4], "int64", -1), ("minimum", [30_001], "float32", 1)],
        [("add", [30_001], "float64", -1), ("maximum", [8], "int64", 0)],
    )

    def arguments(self, rng: random.Random, size: int, op: str, shape: list[int], dtype: str, root: int) -> dict:
        """See `ArrayCheck`; products are exact in their dtype, and those of int64 beyond what a float64 holds."""
        about = {"op": op, "shape": shape, "dtype": dtype, "root": root % size}
        if op == "multiply":
            most = 2 ** (60 // size) if dtype == "int64" else 9
            about |= {"least": most // 2 if dtype == "int64" else 1, "most": most}
        return about


CHECK = TreeReduce()
