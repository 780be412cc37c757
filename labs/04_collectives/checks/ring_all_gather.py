"""The check of `ring_all_gather`."""

import numpy as np

from autograde.rubric import (
    ONE_CHUNK,
    CallCheck,
    Gives,
    Mistakes,
    Ring,
    Words,
    alike,
    array_cases,
    arrays,
    changed,
    first_off,
    ring_criteria,
)

from ..probes.collectives import PROBES

words = Words("""
own-length-in-each-round: Rank {rank} sends {n:entry} in each round, as many as its own chunk has, and a neighbour has
no room for them. Which chunk goes on in the second round, and how long is that one?
""")


def gathered(call):
    return np.concatenate(arrays(call))


def in_arrival_order(call):
    """Chunks from this rank's or the next one's on, up or down."""
    chunks, size, rank = arrays(call), call.size, first_off(call, gathered(call))
    orders = [[(first + step * at) % size for at in range(size)] for first in (0, 1, -1) for step in (1, -1)]
    values = [[np.concatenate([chunks[(one + at) % size] for at in order]) for one in range(size)] for order in orders]
    entries = call.seen[rank].result.entries
    seen = next((order for order, each in zip(orders, values, strict=True) if alike(entries, each[rank])), [])
    return Gives(*values, rank=rank, order=[(rank + at) % size for at in seen])


def own_each_time(call):
    """Each neighbour's chunk at all places but the own one; chunks of other lengths would not fit."""
    chunks, size, rank = arrays(call), call.size, first_off(call, gathered(call))
    if len({*call.arguments["lengths"]}) > 1:
        return None
    values = [np.concatenate([chunks[one if at == one else one - 1] for at in range(size)]) for one in range(size)]
    return Gives(values, rank=rank, previous=(rank - 1) % size)


def own_length(run):
    """Where all lengths differ, a rank has sent as much as its own chunk in more than one round."""
    lengths, item = run.broken["lengths"], np.dtype(run.broken["dtype"]).itemsize
    for rank, log in enumerate(run.of_call(run.reached)):
        nbytes = [event["bytes"] for event in log if event["kind"] in ("send", "sendrecv")]
        same = len(nbytes) > 1 and {*nbytes} == {lengths[rank] * item}
        if run.state == "raised" and same and len({*lengths}) == len(lengths):
            return words("own-length-in-each-round", run.report, rank=rank, n=lengths[rank])
    return None


MISTAKES = Mistakes(
    """
    order-of-arrival: Rank {rank} has all chunks, in the order in which they came to it: those of ranks {order}. The
    order of the ranks is expected, on every rank.

    own-chunk-sent-each-time: Rank {rank} has the chunk of rank {previous} everywhere but at its own place. Its
    neighbour sends the same chunk in every round. What is new to the next rank in the second round?
    """,
    changed(order_of_arrival=in_arrival_order, own_chunk_sent_each_time=own_each_time),
)


RING = Ring(
    lambda size: size - 1,
    whole=lambda call: gathered(call).nbytes,
    chunk=lambda call: max(chunk.nbytes for chunk in arrays(call)),
)
CHECK = CallCheck.of(
    "ring_all_gather",
    PROBES["ring_all_gather"],
    array_cases(  # chunks of the same length and of very different ones, some without entries
        [([3] * 4, "float64"), ([5, 0, 7, 1], "int64"), ([2, 3, 4, 5], "float32")],
        [([4, 1, 2], "float64"), ([0, 0, 0], "int64"), ([50, 1, 0], "int64")],
        [([0, 6], "float32"), ([2, 5], "float64")],
        [([4], "float64")],
        [([2, 0, 4, 5], "int64"), ([9000, 2, 4000, 0], "float32")],
        [([5000, 8, 3], "float64"), ([4, 4, 4], "float32")],
        arguments=lambda rng, size, lengths, dtype: {"lengths": rng.sample(lengths, size), "dtype": dtype},
    ),
    *ring_criteria(
        "chunks",
        (0.8, 0.4, 0.4, 0.4),
        ("by messages between two ranks, each rank gets all chunks, in order of the ranks", ONE_CHUNK),
        RING,
        gathered,
        MISTAKES,
        rounds="size - 1",
        argument="chunk",
    ),
    inputs=("lengths", "dtype"),
    broke_off=own_length,
    consolidation="What comes in is kept, and passed on in the next round. So each chunk travels once round the ring, "
    "and no rank has to send anything twice.",
)
