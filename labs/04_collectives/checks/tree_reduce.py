"""The check of `tree_reduce`."""

from functools import reduce

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Mistakes,
    Ranks,
    ToOneRank,
    Words,
    alike,
    array_cases,
    arrays,
    arrays_stay,
    buffer_messages,
    bytes_of_array,
    changed,
    first_of,
    late_arrival,
    messages_alone,
    of_call,
    senders_to,
    some_message,
    some_of,
    traffic,
    unbuffered,
)

from ..probes.collectives import PROBES

words = Words("""
nothing-on-the-root: Rank {root} of {size} is the root and returns {kind}. It should have the result.

result-on-another-rank: The root is rank {root}, but it is rank {other} that has the result.

result-on-others-too: Rank {rank} is not the root and returns an array. None is expected there: what it has is not the
result.
""")


root_of = of_call("root")


def op_of(call):
    return getattr(np, call.arguments["op"])


def combined(call):
    return reduce(op_of(call), arrays(call))


def on_the_root(call):
    """The root returns something, and nobody else has it in its place."""
    root, results = root_of(call), call.of("result")
    if results[root].is_array:
        return None
    elsewhere = [rank for rank, each in enumerate(results) if each.is_array and alike(each.entries, combined(call))]
    if elsewhere:
        return words("result-on-another-rank", root=root, other=elsewhere[0])
    return words("nothing-on-the-root", root=root, size=call.size, kind=results[root].kind)


def none_elsewhere(call):
    """The other ranks return None, where the root has something."""
    root, results = root_of(call), call.of("result")
    others = [rank for rank, each in enumerate(results) if rank != root and each.kind != "None"]
    return words("result-on-others-too", rank=others[0]) if others and results[root].is_array else None


def own_passed_on(call):
    """The result is of the root and of those alone who send to it, while others send to these."""
    seen, root, brought = traffic(call.events), root_of(call), arrays(call)
    direct = senders_to(seen, root)
    later = [(rank, [each for each in senders_to(seen, rank) if each != root]) for rank in direct]
    rank, sources = next((each for each in later if each[1]), (None, []))
    if rank is None:
        return None
    alone = alike(call.seen[root].result.entries, reduce(op_of(call), [brought[each] for each in (root, *direct)]))
    return {"rank": rank, "sources": Ranks(sources), "target": root} if alone else False


def left_out(call):
    """The result combines the arrays of some ranks only."""
    ranks = some_of(call.seen[root_of(call)].result.entries, arrays(call), op_of(call))
    return {"who": Ranks(ranks)} if ranks else False


def arguments(rng, size, op, shape, dtype, root):
    """Products are exact in their dtype, and those of int64 beyond what a float64 holds."""
    about = {"op": op, "shape": shape, "dtype": dtype, "root": root % size}
    if op == "multiply":
        most = 2 ** (60 // size) if dtype == "int64" else 9
        about |= {"least": most // 2 if dtype == "int64" else 1, "most": most}
    return about


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
    changed(sum_whatever_op=lambda call: sum(arrays(call)) if call.arguments["op"] != "add" else None),
    receives_after_it_sent=late_arrival,
    own_array_passed_on=own_passed_on,
    ranks_left_out=left_out,
)
SENT = some_message(lambda call: call.size > 1 and 0 not in call.arguments["shape"])
RESULT = Criterion(
    "result",
    1.25,
    "by messages between two ranks, the root gets `op` of all arrays",
    first_of(messages_alone, on_the_root, EachRankReturnsArray(combined, ranks=lambda call: [root_of(call)]), SENT),
    MISTAKES,
)
CHECK = CallCheck.of(
    "tree_reduce",
    PROBES["tree_reduce"],
    array_cases(  # roots in every place, counted from 0 or, below it, from the end
        [
            *(("add", [8], "float64", -1), ("maximum", [3, 4], "int64", 1)),
            *(("add", [3, 4], "int64", 0), ("multiply", [8], "float32", 2)),
        ],
        [("minimum", [8], "float64", -1), ("add", [3, 4], "float32", 0), ("add", [0], "int64", 1)],
        [("multiply", [3, 4], "int64", -1), ("add", [8], "float64", 0)],
        [("add", [8], "float64", 0)],
        [("add", [3, 4], "int64", -1), ("minimum", [30_001], "float32", 1)],
        [("add", [30_001], "float64", -1), ("maximum", [8], "int64", 0)],
        arguments=arguments,
    ),
    RESULT,
    Criterion(
        "tree",
        0.75,
        "each rank but the root sends one buffer message (Send, Recv, Sendrecv, Isend, Irecv), a whole array, in at "
        "most ceil(log2(size)) rounds",
        first_of(messages_alone, buffer_messages, SENT, ToOneRank(root_of, bytes_of_array)),
    ),
    unbuffered(0.5, of=RESULT),
    Criterion(
        "conduct",
        0.5,
        "`array` stays as it is; the result is a new array, which stays, too; other ranks return None",
        first_of(none_elsewhere, arrays_stay),
    ),
    inputs=("op", "shape", "dtype", "root"),
    consolidation="A reduction is a broadcast run backwards, in log2 N rounds: each rank waits for all that is to come "
    "to it, combines, and sends once. What moves are whole arrays.",
)
