"""The check of `ring_reduce_scatter`."""

import numpy as np

from autograde.rubric import (
    ONE_CHUNK,
    CallCheck,
    Gives,
    Mistakes,
    Ring,
    alike,
    array_cases,
    arrays,
    bytes_of_array,
    changed,
    first_off,
    longest_chunk,
    other_summands,
    ring_criteria,
    total,
)

from ..probes.collectives import PROBES


def chunks_of_sum(call):
    return np.array_split(total(call), call.size)


def own_chunks(call):
    """For each rank, that chunk of all ranks' arrays."""
    return [[np.array_split(values, call.size)[rank] for values in arrays(call)] for rank in range(call.size)]


def of_wrong_chunk(call, *values):
    """A mistake that gives these chunks: the first rank that has another one, and whose it has."""
    right, entries = chunks_of_sum(call), [each.entries for each in call.of("result")]
    rank = first_off(call, right)
    other = next((at for at, chunk in enumerate(right) if at != rank and alike(entries[rank], chunk)), rank)
    about = {"n": call.arguments["shape"][0], "has": (call.seen[rank].result.shape or [0])[0], "due": len(right[rank])}
    return Gives(*values, rank=rank, other=other, **about)


def of_neighbours(call):
    """Chunks of the rank before or behind."""
    right = chunks_of_sum(call)
    return of_wrong_chunk(call, [*right[1:], right[0]], [right[-1], *right[:-1]])


def without_rest(call):
    """Chunks of n // size entries, where the last rank may have the rest."""
    values, size = total(call), call.size
    n = len(values) // size
    even = [values[rank * n : (rank + 1) * n] for rank in range(size)]
    return of_wrong_chunk(call, even, [*even[:-1], values[(size - 1) * n :]])


MISTAKES = Mistakes(
    """
    own-chunk-returned: Rank {rank} returns its own array's chunk {rank}, to which no other rank has added anything.

    chunk-of-another-rank: Rank {rank} returns chunk {other} of the sum. It is added up as it should be, but chunk
    {rank} is expected: on which rank does a chunk have to begin, so that it ends there?

    whole-sum-returned: Rank {rank} returns the whole sum, {n:entry}. Its own chunk alone is expected.

    rest-left-out: With {n:entry} on {size:rank}, rank {rank} returns {has:entry}, where {due} are expected: you cut
    chunks of n // size. To whom do the entries that are left over belong?

    summands-of-the-chunk: In the chunk that rank {rank} returns, {times}. Every rank should be in it once. Who adds
    what, before the chunk moves on?
    """,
    changed(
        own_chunk_returned=lambda call: of_wrong_chunk(call, [own[rank] for rank, own in enumerate(own_chunks(call))]),
        chunk_of_another_rank=of_neighbours,
        whole_sum_returned=lambda call: of_wrong_chunk(call, total(call)),
        rest_left_out=without_rest,
    ),
    summands_of_the_chunk=lambda call: other_summands(call, chunks_of_sum(call), own_chunks(call)),
)
CHECK = CallCheck.of(
    "ring_reduce_scatter",
    PROBES["ring_reduce_scatter"],
    array_cases(
        [(13, "float64"), (11, "float32"), (8, "int64"), (2, "int64")],
        [(10, "int64"), (13, "float64"), (0, "float32")],
        [(8, "float32"), (13, "float64")],
        [(8, "float64")],
        [(18, "int64"), (30_001, "float32")],
        [(30_002, "float64"), (2, "int64")],
    ),
    *ring_criteria(
        "chunk",
        (1.25, 0.75, 0.5, 0.5),
        ("by messages between two ranks, each rank gets its chunk of the sum", ONE_CHUNK),
        Ring(lambda size: size - 1, bytes_of_array, longest_chunk),
        chunks_of_sum,
        MISTAKES,
        rounds="size - 1",
    ),
    inputs=("shape", "dtype"),
    consolidation="In each round every link carries one chunk, and every rank adds to one. After N - 1 rounds each "
    "rank has sent (N - 1) / N of an array, whatever N is.",
)
