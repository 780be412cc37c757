"""The check of `ring_allreduce`."""

from math import prod

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    Gives,
    Mistakes,
    Ring,
    Traffic,
    Words,
    array_cases,
    arrays,
    bytes_of_array,
    changed,
    longest_chunk,
    other_summands,
    ring_criteria,
    same_bits,
    total,
    traffic,
)
from course.watch.messages import Message

from ..probes.collectives import PROBES

words = Words("""
rows-cut: With arrays of shape {shape} your messages carry {bytes} bytes, where {most} are enough: the rows were shared
out among the ranks. There may be fewer rows than ranks; what can be cut more finely?
""")


def averages(call):
    """The sum over the number of ranks; one rank's is its sum."""
    whole = total(call)
    return Gives(np.asarray(whole / call.size), np.asarray(whole // call.size)) if call.size > 1 else None


def out_of_place(call):
    """The entries of the sum as they lie in memory, or put in so."""
    whole = total(call)
    as_they_lie = np.ravel(arrays(call)[0] * 0 + whole, order="K").reshape(whole.shape)
    return Gives(as_they_lie, whole.T.reshape(whole.shape))


MISTAKES = Mistakes(
    """
    own-array-returned: Each rank returns its own array. Where do the other ranks' arrays come in?

    average-over-ranks: The result is {size} times too small on {size:rank}: an average, where the sum is expected.

    entries-out-of-place: All entries of the sum are there, but not in their places. The array that was given is not
    contiguous: its rows do not lie one after the other in memory. In which order do you take entries out of it, and put
    them in?

    summands-of-the-sum: In the sum that rank {rank} returns, {times}. Every rank should be in it once.
    """,
    changed(own_array_returned=arrays, average_over_ranks=averages, entries_out_of_place=out_of_place),
    summands_of_the_sum=lambda call: other_summands(call, total(call), [arrays(call)] * call.size),
)


def sent(call):
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

    def bytes(self, call, seen):
        """No message is larger than a chunk of entries."""
        own, most = arrays(call)[0], self.chunk(call)
        rows = {part.nbytes for part in np.array_split(own, call.size)} if own.ndim > 1 and len(own) > 1 else {0}
        if call.size > 2 and max(rows) > most and {each.bytes for each in seen.messages} <= rows | {0, None}:
            return words("rows-cut", shape=str([*own.shape]), bytes=max(rows), most=most)
        return super().bytes(call, seen)


CHECK = CallCheck.of(
    "ring_allreduce",
    PROBES["ring_allreduce"],
    array_cases(  # of any number of dimensions, contiguous and not; with fractions, the order of adding shows
        [(13, "float64"), ((3, 5), "float64", "transposed"), ((7, 15), "float32"), ((), "int64")],
        [((2, 15), "float32"), (2, "int64"), ((2, 3, 5), "float64")],
        [((5, 3), "int64"), (0, "float64"), ((), "float64")],
        [((4, 2), "float64", "transposed")],
        [((2, 11), "int64"), ((200, 90), "float32", "transposed")],
        [(30_001, "float64"), (7, "float32")],
        fractions=True,
    ),
    *ring_criteria(
        "sum",
        (0.6, 0.5, 0.3, 0.3),
        (
            "by messages between two ranks, every rank gets the sum",
            "buffer messages go to rank + 1 only, none of more than ceil(n / size) of the n entries",
        ),
        ReducingRing(lambda size: 2 * (size - 1), bytes_of_array, longest_chunk, sent),
        total,
        MISTAKES,
        rounds="2 (size - 1)",
    ),
    Criterion("bits", 0.3, "bit for bit, all ranks return the same", same_bits, after=("sum",)),
    inputs=("shape", "dtype"),
    consolidation="All-reduce is reduce-scatter, then all-gather: a rank sends 2 (N - 1) / N times its array, less "
    "than twice, on any number of ranks. This ring, in NCCL and Horovod, is the workhorse of distributed training.",
)
