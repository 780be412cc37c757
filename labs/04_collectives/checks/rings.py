"""The checks of `ring_reduce_scatter`, `ring_all_gather` and `ring_allreduce`."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import ceil, prod
from typing import Any

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, first_of, of_record
from autograde.rubric.judges.arrays import EachRankReturnsArray, alike, first_off, other_summands, same_bits
from autograde.rubric.judges.conduct import argument_unchanged, memory_not_shared, result_stays
from autograde.rubric.judges.messages import messages_alone
from autograde.rubric.judges.ring import Ring
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.traffic import Traffic, traffic
from course.watch.messages import Message

from ..probes.collectives import PROBES
from ..shared.values import array_of, plain

words = Words("""
own-length-in-each-round: Rank {rank} sends {n:entry} in each round, as many as its own chunk has, and a neighbour has
no room for them. Which chunk goes on in the second round, and how long is that one?

rows-cut: With arrays of shape {shape} your messages carry {bytes} bytes, where {most} are enough: the rows were shared
out among the ranks. There may be fewer rows than ranks; what can be cut more finely?
""")


def arrays_of(call: Call) -> list[np.ndarray]:
    """The arrays, or chunks, that the ranks bring."""
    return [array_of(call.arguments, rank) for rank in range(call.size)]


def total(call: Call) -> np.ndarray:
    """The sum."""
    return np.asarray(sum(arrays_of(call)))


def chunks_of_sum(call: Call) -> list[np.ndarray]:
    """The sum, cut."""
    return np.array_split(total(call), call.size)


def gathered(call: Call) -> np.ndarray:
    """All chunks."""
    return np.concatenate(arrays_of(call))


def own_chunks(call: Call) -> list[list[np.ndarray]]:
    """For each rank, that chunk of all ranks' arrays."""
    return [[np.array_split(values, call.size)[rank] for values in arrays_of(call)] for rank in range(call.size)]


def of_wrong_chunk(call: Call, *values: Any) -> Gives:
    """A mistake that gives these chunks: the first rank that has another one, and whose it has."""
    right, entries = chunks_of_sum(call), [each.entries for each in call.of("result")]
    rank = first_off(call, right)
    other = next((at for at, chunk in enumerate(right) if at != rank and alike(entries[rank], chunk)), rank)
    about = {"n": call.arguments["shape"][0], "has": (call.seen[rank].result.shape or [0])[0], "due": len(right[rank])}
    return Gives(*values, rank=rank, other=other, **about)


def neighbours_chunk(call: Call) -> Gives:
    """Chunks of the rank before or behind."""
    right = chunks_of_sum(call)
    return of_wrong_chunk(call, [*right[1:], right[0]], [right[-1], *right[:-1]])


def without_rest(call: Call) -> Gives:
    """Chunks of n // size entries, where the last rank may have the rest."""
    values, size = total(call), call.size
    n = len(values) // size
    even = [values[rank * n : (rank + 1) * n] for rank in range(size)]
    return of_wrong_chunk(call, even, [*even[:-1], values[(size - 1) * n :]])


def in_arrival_order(call: Call) -> Gives:
    """Chunks from this rank's or the next one's on, up or down."""
    chunks, size, rank = arrays_of(call), call.size, first_off(call, gathered(call))
    orders = [[(first + step * at) % size for at in range(size)] for first in (0, 1, -1) for step in (1, -1)]
    values = [[np.concatenate([chunks[(one + at) % size] for at in order]) for one in range(size)] for order in orders]
    entries = call.seen[rank].result.entries
    seen = next((order for order, each in zip(orders, values, strict=True) if alike(entries, each[rank])), [])
    return Gives(*values, rank=rank, order=[(rank + at) % size for at in seen])


def own_each_time(call: Call) -> Gives | None:
    """Each neighbour's chunk at all places but the own one; chunks of other lengths would not fit."""
    chunks, size, rank = arrays_of(call), call.size, first_off(call, gathered(call))
    if len({*call.arguments["lengths"]}) > 1:
        return None
    values = [np.concatenate([chunks[one if at == one else one - 1] for at in range(size)]) for one in range(size)]
    return Gives(values, rank=rank, previous=(rank - 1) % size)


def averages(call: Call) -> Gives | None:
    """The sum over the number of ranks; one rank's is its sum."""
    whole = total(call)
    return Gives(np.asarray(whole / call.size), np.asarray(whole // call.size)) if call.size > 1 else None


def out_of_place(call: Call) -> Gives:
    """The entries of the sum as they lie in memory, or put in so."""
    whole = total(call)
    as_they_lie = np.ravel(arrays_of(call)[0] * 0 + whole, order="K").reshape(whole.shape)
    return Gives(as_they_lie, whole.T.reshape(whole.shape))


CHUNK = Mistakes(
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
    own_chunk_returned=lambda call: of_wrong_chunk(call, [own[rank] for rank, own in enumerate(own_chunks(call))]),
    chunk_of_another_rank=neighbours_chunk,
    whole_sum_returned=lambda call: of_wrong_chunk(call, total(call)),
    rest_left_out=without_rest,
    summands_of_the_chunk=lambda call: other_summands(call, chunks_of_sum(call), own_chunks(call)),
)
CHUNKS = Mistakes(
    """
    order-of-arrival: Rank {rank} has all chunks, in the order in which they came to it: those of ranks {order}. The
    order of the ranks is expected, on every rank.

    own-chunk-sent-each-time: Rank {rank} has the chunk of rank {previous} everywhere but at its own place. Its
    neighbour sends the same chunk in every round. What is new to the next rank in the second round?
    """,
    order_of_arrival=in_arrival_order,
    own_chunk_sent_each_time=own_each_time,
)
SUM = Mistakes(
    """
    own-array-returned: Each rank returns its own array. Where do the other ranks' arrays come in?

    average-over-ranks: The result is {size} times too small on {size:rank}: an average, where the sum is expected.

    entries-out-of-place: All entries of the sum are there, but not in their places. The array that was given is not
    contiguous: its rows do not lie one after the other in memory. In which order do you take entries out of it, and put
    them in?

    summands-of-the-sum: In the sum that rank {rank} returns, {times}. Every rank should be in it once.
    """,
    own_array_returned=lambda call: Gives(arrays_of(call)),
    average_over_ranks=averages,
    entries_out_of_place=out_of_place,
    summands_of_the_sum=lambda call: other_summands(call, total(call), [arrays_of(call)] * call.size),
)


def sent(call: Call) -> Traffic:
    """The messages of a call, and those that the halves which it called would have sent: what stands in for them sends
    none."""
    own, size, more = traffic(call.events), call.size, []
    for rank, seen in enumerate(call.seen):
        for number, half in enumerate(seen.halves):
            entries = half.shape[0] if half.shape else 0
            lengths = half.lengths or [entries // size + (each < entries % size) for each in range(size)]
            row = prod(half.shape[1:]) * half.itemsize
            for step in range(1, size):
                bytes_ = max(lengths) * row if step == 1 else 0  # none is larger than the largest
                around = own.rounds + number * (size - 1) + step
                more.append(Message(rank, (rank + 1) % size, bytes_, None, 0.0, 0.0, around))
    return Traffic(size, (*own.messages, *more))


class ReducingRing(Ring):
    """A ring that goes round twice, where rows may be cut in place of entries."""

    def bytes(self, call: Call, seen: Traffic) -> Wrong | None:
        """No message is larger than a chunk of entries."""
        own, most = arrays_of(call)[0], self.chunk(call)
        rows = {part.nbytes for part in np.array_split(own, call.size)} if own.ndim > 1 and len(own) > 1 else {0}
        if call.size > 2 and max(rows) > most and {each.bytes for each in seen.messages} <= rows | {0, None}:
            return words("rows-cut", shape=str([*own.shape]), bytes=max(rows), most=most)
        return super().bytes(call, seen)


def longest_chunk(call: Call) -> int:
    """Bytes of the largest chunk, as np.array_split cuts."""
    own = arrays_of(call)[0]
    return ceil(own.size / call.size) * own.itemsize


def bytes_of_array(call: Call) -> int:
    """Bytes of a rank's array."""
    return arrays_of(call)[0].nbytes


HALF_RING = Ring(lambda size: size - 1, bytes_of_array, longest_chunk)
GATHERING_RING = Ring(
    lambda size: size - 1,
    whole=lambda call: gathered(call).nbytes,
    chunk=lambda call: max(chunk.nbytes for chunk in arrays_of(call)),
)
RING = ReducingRing(lambda size: 2 * (size - 1), bytes_of_array, longest_chunk, sent)
ONE_CHUNK = "every rank sends one chunk a round, to rank + 1 only (the last one to rank 0), in a buffer message"
SAFE = "and it also works where each send waits for its receive"


def criteria(
    ring: Ring, expected: Callable, result: tuple, messages: tuple, points: float, rounds: str, name: str
) -> tuple:
    """The criteria of a TODO on a ring. result: name, points, sentence and mistakes of the one on what is returned.
    messages: points and sentence. points: of the others. rounds: how many. name: of the argument."""
    returned = first_of(messages_alone, EachRankReturnsArray(expected), ring.something_sent)
    both = of_record(lambda call: returned(call) if call.arguments["safe"] else ring.rounds(call))
    both_ways = f"a rank sends and receives at the same time, in at most {rounds} rounds, {SAFE}"
    conduct = f"`{name}` stays as it is; the result is a new array, which stays, too"
    return (
        Criterion(*result[:3], returned, result[3], on=plain),
        Criterion("ring", *messages, ring, on=plain, breaks=True),
        Criterion("both-ways", points, both_ways, both, after=(result[0], "ring")),
        Criterion("conduct", points, conduct, first_of(argument_unchanged, memory_not_shared, result_stays), on=plain),
    )


class OnARing(CallCheck):
    """Base class. A subclass says its calls: a list for each case, of arguments without seed and `safe`."""

    def calls(self, rng: random.Random) -> tuple[list, ...]:
        """Those on 4, 3, 2 ranks and one; on 4 and 3 ranks, with sends that wait and many numbers."""
        raise NotImplementedError

    def cases(self, rng: random.Random) -> list[dict]:
        """More entries than ranks, fewer and none; what divides evenly and not; then with sends that wait."""
        order, made = rng.sample(range(4), 4), []
        places = [0, 1, 2, 3], order[:3], order[::-2], order[:1], order, order[:3]
        for number, (ranks, calls) in enumerate(zip(places, self.calls(rng), strict=True)):
            filled = [{**each, "safe": number > 3, "seed": rng.getrandbits(32)} for each in calls]
            made.append({"ranks": ranks, "calls": filled, "late": rng.randrange(len(ranks))})
        return made


class RingReduceScatter(OnARing):
    """Each rank's chunk of the sum, and how the chunks went round."""

    todo, probe = "ring_reduce_scatter", PROBES["ring_reduce_scatter"]
    consolidation = (
        "In each round every link carries one chunk, and every rank adds to one. After N - 1 rounds each rank has sent "
        "(N - 1) / N of an array, whatever N is."
    )
    result = "chunk", 1.25, "by messages between two ranks, each rank gets its chunk of the sum", CHUNK
    criteria = criteria(HALF_RING, chunks_of_sum, result, (0.75, ONE_CHUNK), 0.5, "size - 1", "array")

    def calls(self, rng: random.Random) -> tuple[list, ...]:
        """See `OnARing`."""

        def call(n: int, dtype: str) -> dict:
            return {"shape": [n], "dtype": dtype}

        return (
            [call(13, "float64"), call(11, "float32"), call(8, "int64"), call(2, "int64")],
            [call(rng.randint(9, 11), "int64"), call(13, "float64"), call(0, "float32")],
            [call(8, "float32"), call(13, "float64")],
            [call(8, "float64")],
            [call(rng.randint(17, 19), "int64"), call(30_001, "float32")],
            [call(30_002, "float64"), call(2, "int64")],
        )


class RingAllGather(OnARing):
    """All chunks on every rank, and how they went round."""

    todo, probe = "ring_all_gather", PROBES["ring_all_gather"]
    consolidation = (
        "What comes in is kept, and passed on in the next round. So each chunk travels once round the ring, and no "
        "rank has to send anything twice."
    )
    result = ("chunks", 0.8, "by messages between two ranks, each rank gets all chunks, in order of the ranks", CHUNKS)
    criteria = criteria(GATHERING_RING, gathered, result, (0.4, ONE_CHUNK), 0.4, "size - 1", "chunk")

    def calls(self, rng: random.Random) -> tuple[list, ...]:
        """See `OnARing`; chunks of the same length and of very different ones, some without entries."""

        def call(lengths: list[int], dtype: str) -> dict:
            return {"lengths": rng.sample(lengths, len(lengths)), "dtype": dtype}

        return (
            [call([3] * 4, "float64"), call([5, 0, 7, 1], "int64"), call([2, 3, 4, 5], "float32")],
            [call([4, 1, 2], "float64"), call([0, 0, 0], "int64"), call([50, 1, 0], "int64")],
            [call([0, 6], "float32"), call([2, 5], "float64")],
            [call([4], "float64")],
            [call([2, 0, 4, 5], "int64"), call([9000, 2, 4000, 0], "float32")],
            [call([5000, 8, 3], "float64"), call([4, 4, 4], "float32")],
        )

    def broke_off(self, run: Run) -> Wrong | None:
        """Where all lengths differ, a rank has sent as much as its own chunk in more than one round."""
        lengths, item = run.broken["lengths"], np.dtype(run.broken["dtype"]).itemsize
        for rank, log in enumerate(run.of_call(run.reached)):
            bytes_ = [event["bytes"] for event in log if event["kind"] in ("send", "sendrecv")]
            same = len(bytes_) > 1 and {*bytes_} == {lengths[rank] * item}
            if run.state == "raised" and same and len({*lengths}) == len(lengths):
                return words("own-length-in-each-round", run.report, rank=rank, n=lengths[rank])
        return None


class RingAllreduce(OnARing):
    """The sum on every rank, to the bit, and how it got there."""

    todo, probe = "ring_allreduce", PROBES["ring_allreduce"]
    consolidation = (
        "All-reduce is reduce-scatter, then all-gather: a rank sends 2 (N - 1) / N times its array, less than twice, "
        "on any number of ranks. This ring, in NCCL and Horovod, is the workhorse of distributed training."
    )
    result = ("sum", 0.6, "by messages between two ranks, every rank gets the sum", SUM)
    messages = 0.5, "buffer messages go to rank + 1 only, none of more than ceil(n / size) of the n entries"
    bits = Criterion("bits", 0.3, "bit for bit, all ranks return the same", same_bits, on=plain, after=("sum",))
    criteria = (*criteria(RING, total, result, messages, 0.3, "2 (size - 1)", "array"), bits)

    def calls(self, rng: random.Random) -> tuple[list, ...]:
        """See `OnARing`; arrays of any number of dimensions, contiguous and not."""

        def call(shape: list[int], dtype: str, transposed: bool = False) -> dict:
            return {"shape": shape, "dtype": dtype, "transposed": transposed, "fractions": True}

        return (
            [call([13], "float64"), call([3, 5], "float64", True), call([7, 15], "float32"), call([], "int64")],
            [call([2, 15], "float32"), call([2], "int64"), call([2, 3, 5], "float64")],
            [call([5, 3], "int64"), call([0], "float64"), call([], "float64")],
            [call([4, 2], "float64", True)],
            [call([2, 11], "int64"), call([200, 90], "float32", True)],
            [call([30_001], "float64"), call([7], "float32")],
        )


CHECKS = (RingReduceScatter(), RingAllGather(), RingAllreduce())
