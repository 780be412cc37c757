"""The check of `ring_allreduce`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import stuck
from course.simulated.safe import safe

from .arrays import counted, near, not_as_expected, other_shape, shape_of_shown, shared, shown, sketch, summands
from .arrays import values_of as whole_numbers
from .traffic import around_the_ring, buffers_only, longest_chunk, ring_prices, who_differs

finding = Findings("""
own-array-returned 2
Each rank returns its own array. Where do the other ranks' arrays come in?

average-over-ranks 1
The result is {size} times too small on {size} ranks: an average, where the sum is expected.

sum-on-some-ranks 1.5
The sum is on some ranks, but not on {who}. Every rank needs it.

bits-differ-by-rank 1
On {who} the result differs from rank 0's in its last bits. Each rank adds up in another order, and rounding follows
the order. How can one rank's sum be everybody's?

entries-out-of-place 2
All entries of the sum are there, but not in their places. The array that was given is not contiguous: its rows do not
lie one after the other in memory. In which order do you take entries out of it, and put them in?

summands-of-the-sum 2
In the sum that rank {rank} returns, {times}. Every rank should be in it once.

other-sum-of-arrays 2
On rank {rank}, entry {place} of the result is {actual:.8g}, where the sum is {expected:.8g}.

rows-cut 1
The result is right. But with arrays of shape {shape} your messages carry {bytes} bytes, where {most} are enough: the
rows were shared out among the ranks. There may be fewer rows than ranks; what can be cut more finely?
""")


def values_of(rank: int, plan: dict) -> np.ndarray:
    """The array of a rank: fractions, whose sum depends on the order in its last bits, and perhaps transposed."""
    values = whole_numbers(rank, plan)
    if plan["dtype"] != "int64":
        values = np.asarray(values / 7, plan["dtype"])
    return values.T if plan["transposed"] else values


class RingAllreduce(CallCheck, JudgedCalls):
    """The sum on every rank, to the bit, and how it got there."""

    todo, points = "ring_allreduce", 2
    prices = MappingProxyType(ring_prices(buffer_too_short=2))
    consolidation = (
        "All-reduce is reduce-scatter, then all-gather: a rank sends 2 (N - 1) / N times its array, less than twice, "
        "on any number of ranks. This ring, in NCCL and Horovod, is the workhorse of distributed training."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Arrays of any number of dimensions, contiguous and not, with more and fewer entries than ranks."""

        def call(shape: list[int], dtype: str, safe: bool = True, transposed: bool = False) -> dict:
            about = {"shape": shape, "dtype": dtype, "safe": safe, "transposed": transposed}
            return about | {"seed": rng.getrandbits(32)}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls], "late": rng.randrange(len(ranks))}

        cases = [
            case(
                [0, 1, 2, 3],
                call([13], "float64"),
                call([3, 5], "float64", transposed=True),
                call([30_001], "float32", False),
                call([], "int64"),
            ),
            case([2, 0, 3], call([2, 15], "float32"), call([2], "int64"), call([100, 100], "float64")),
            case([3, 1], call([5, 3], "int64", False), call([0], "float64"), call([], "float64")),
            case([1], call([4, 2], "float64", transposed=True)),
        ]
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> dict[str, Any]:
        """Both halves."""

        def ring_reduce_scatter(comm: Any, array: np.ndarray) -> np.ndarray:
            """This rank's chunk of the sum."""
            chunks = np.array_split(np.array(array), comm.size)
            for step in range(comm.size - 1):
                summed = chunks[(comm.rank - step - 2) % comm.size]
                came = np.empty_like(summed)
                sent = np.ascontiguousarray(chunks[(comm.rank - step - 1) % comm.size])
                comm.Sendrecv(sent, (comm.rank + 1) % comm.size, recvbuf=came, source=(comm.rank - 1) % comm.size)
                summed += came
            return chunks[comm.rank].copy()

        def ring_all_gather(comm: Any, chunk: np.ndarray, lengths: list[int]) -> np.ndarray:
            """All chunks in the order of the ranks."""
            chunks = [np.empty((length, *chunk.shape[1:]), chunk.dtype) for length in lengths]
            chunks[comm.rank][...] = chunk
            for step in range(comm.size - 1):
                sent, came = (chunks[(comm.rank - step - back) % comm.size] for back in (0, 1))
                comm.Sendrecv(sent, (comm.rank + 1) % comm.size, recvbuf=came, source=(comm.rank - 1) % comm.size)
            return np.concatenate(chunks)

        return {"ring_reduce_scatter": ring_reduce_scatter, "ring_all_gather": ring_all_gather}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What this rank returned."""
        own = values_of(rank.rank, call)
        rank.argument("array", own)
        return shown(function(safe(rank.comm) if call["safe"] else rank.comm, own), own)

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """An array, or what came instead."""
        return shape_of_shown()

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Who waits for whom."""
        return stuck(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The sum on every rank, its bits, and then the ring."""
        size, shape = call.size, call.plan["shape"]
        arrays = [values_of(rank, call.plan) for rank in range(size)]
        expected = [sum(arrays, np.zeros_like(arrays[0]))] * size
        if found := buffers_only(call.events) or not_as_expected(call.shown, expected):
            return found
        other = other_shape(call.shown, expected)
        if other is not None and {prod(each["array"]["shape"]) for each in call.shown} != {prod(shape)}:
            return [other]
        numbers = diagnosis(call, arrays, expected[0])
        averaged = any(each.key == "average-over-ranks" for each in numbers.explained)
        if numbers.otherwise is not None:
            return [numbers, *map(besides, ring_mistakes(call, arrays[0]) if averaged else ())]
        if other is not None:
            return [numbers, other]
        found = [numbers, *shared(call.shown)]
        bits = [each["array"]["digest"] == call.shown[0]["array"]["digest"] for each in call.shown]
        if not all(bits):
            found.append(finding("bits-differ-by-rank", who=who_differs(bits)))
        return [*found, *ring_mistakes(call, arrays[0])]


def ring_mistakes(call: Call, own: np.ndarray) -> list[Finding]:
    """What is wrong with how the arrays went round. own: that of one rank."""
    entries, item = own.size, own.itemsize
    ring = around_the_ring(call, entries * item, longest_chunk(entries, call.size) * item, 2 * (call.size - 1))
    if ring and ring[0].key in ("message-too-large", "whole-arrays-go-round") and cut_by_rows(call, own):
        largest = max(event["bytes"] or 0 for log in call.events for event in log)
        most = longest_chunk(entries, call.size) * item
        return [finding("rows-cut", shape=[*own.shape], bytes=largest, most=most)]
    return ring


def besides(ring: Finding) -> Finding:
    """A finding on the ring where the result is not right."""
    said = ring.message.removeprefix("The result is right. But ")
    return replace(ring, message=said[0].upper() + said[1:])


def cut_by_rows(call: Call, own: np.ndarray) -> bool:
    """Whether the messages are as large as chunks of rows would be."""
    if own.ndim < 2 or len(own) < 2:
        return False
    chunks = {rows.nbytes for rows in np.array_split(own, call.size)}
    return {event["bytes"] for log in call.events for event in log} <= chunks | {0, None}


def diagnosis(call: Call, arrays: list[np.ndarray], total: np.ndarray) -> Diagnosis:
    """The sums against what known mistakes give."""
    size, alike = call.size, near(call.plan["dtype"])
    actual, right = [each["array"]["sketch"] for each in call.shown], [sketch(total)] * size
    known = {
        "own-array-returned": [sketch(own) for own in arrays],
        "average-over-ranks": [sketch(total / size)] * size,
        "average-over-ranks/of whole numbers": [sketch(total // size)] * size,
        "entries-out-of-place": [sketch(np.ravel(arrays[0] * 0 + total, order="K").reshape(total.shape))] * size,
        "entries-out-of-place/put in so": [sketch(total.T.reshape(total.shape))] * size,
    }
    same = [alike(one, two) for one, two in zip(actual, right, strict=True)]
    if all(same):
        return diagnose("sum", actual, right, known, partial(finding, size=size), "own-array-returned", alike)
    rank = same.index(False)
    place = next((place for place in range(total.size) if differs(alike, actual[rank], right[rank], place)), 0)
    times = summands(actual[rank], arrays)
    if any(same):
        otherwise = finding("sum-on-some-ranks", who=who_differs(same))
    elif times:
        otherwise = finding("summands-of-the-sum", rank=rank, times=counted(times))
    else:
        numbers = {"actual": (actual[rank] or [0.0])[min(place, len(actual[rank]) - 1)] or 0.0}
        numbers["expected"] = (right[rank] or [0.0])[min(place, len(right[rank]) - 1)]
        otherwise = finding("other-sum-of-arrays", rank=rank, place=place, **numbers)
    return diagnose("sum", actual, right, known, partial(finding, size=size), otherwise, alike)


def differs(alike: Callable[[Any, Any], bool], actual: list, right: list, place: int) -> bool:
    """Whether entry `place` of two sketches is another one."""
    return place >= len(actual) or place >= len(right) or not alike(actual[place], right[place])


CHECK = RingAllreduce()
