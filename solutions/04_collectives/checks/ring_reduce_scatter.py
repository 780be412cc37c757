"""The check of `ring_reduce_scatter`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import stuck
from course.simulated.safe import safe

from .arrays import (
    counted,
    near,
    never_returned,
    not_as_expected,
    shape_of_shown,
    shared,
    shown,
    sketch,
    summands,
    values_of,
)
from .traffic import around_the_ring, buffers_only, longest_chunk, ring_prices

finding = Findings("""
chunk-of-another-rank 2
Rank {rank} returns chunk {other} of the sum. It is added up as it should be, but chunk {rank} is expected: on which
rank does a chunk have to begin, so that it ends there?

whole-sum-returned 1.5
Rank {rank} returns the whole sum, {n} entries. Its own chunk alone is expected.

own-chunk-returned 3
Rank {rank} returns its own array's chunk {rank}, to which no other rank has added anything.

rest-left-out 1.5
With {n} entries on {size} ranks, rank {rank} returns {actual} entries, where {expected} are expected: you cut chunks
of n // size. To whom do the entries that are left over belong?

summands-of-the-chunk 3
In the chunk that rank {rank} returns, {times}. Every rank should be in it once. Who adds what, before the chunk moves
on?

other-chunk 3
Rank {rank} returns {actual} entries that are not chunk {rank} of the sum, with {n} entries on {size} ranks. Follow one
chunk through the rounds: who has it, and whose numbers are in it?
""")


def cut(values: np.ndarray, size: int) -> list[np.ndarray]:
    """Chunks, as np.array_split cuts."""
    return np.array_split(values, size)


def without_rest(values: np.ndarray, size: int) -> list[np.ndarray]:
    """Chunks of n // size entries."""
    step = len(values) // size
    return [values[rank * step : (rank + 1) * step] for rank in range(size)]


def rest_on_the_last(values: np.ndarray, size: int) -> list[np.ndarray]:
    """Chunks of n // size entries, and a longer one on the last rank."""
    ends = [*(rank * (len(values) // size) for rank in range(size)), len(values)]
    return [values[begin:end] for begin, end in pairwise(ends)]


class RingReduceScatter(CallCheck, JudgedCalls):
    """Each rank's chunk of the sum, and how the chunks went round."""

    todo, points = "ring_reduce_scatter", 3
    prices = MappingProxyType(ring_prices(buffer_too_short=2))
    consolidation = (
        "In each round every link carries one chunk, and every rank adds to one. After N - 1 rounds each rank has sent "
        "(N - 1) / N of an array, whatever N is."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """More entries than ranks, fewer and none; what divides evenly and not; plain and safe."""

        def call(n: int, dtype: str, safe: bool = True) -> dict:
            return {"shape": [n], "dtype": dtype, "safe": safe, "seed": rng.getrandbits(32)}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls], "late": rng.randrange(len(ranks))}

        cases = [
            case([0, 1, 2, 3], call(13, "float64"), call(30_001, "float32", False), call(8, "int64"), call(2, "int64")),
            case([2, 0, 3], call(13, "int64"), call(30_001, "float64"), call(0, "float32")),
            case([3, 1], call(8, "float32", False), call(13, "float64")),
            case([1], call(8, "float64")),
        ]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1, 0, 2], call(rng.randint(17, 19), "int64"), call(30_002, "float64"), call(8, "float32"))]
        cases += [case([1, 2, 0], call(rng.randint(10, 11), "float64", False), call(2, "int64"))]
        ### END HIDDEN CASES
        return cases

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
        return never_returned(stuck(run))

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The chunks, and then the ring."""
        size, [n] = call.size, call.plan["shape"]
        arrays = [values_of(rank, call.plan) for rank in range(size)]
        expected = cut(sum(arrays), size)
        if found := buffers_only(call.events) or not_as_expected(call.shown, expected):
            return found
        chunks = diagnosis(call, arrays, expected)
        if chunks.otherwise is not None:
            return [chunks]
        item = arrays[0].itemsize
        ring = around_the_ring(call, n * item, longest_chunk(n, size) * item, size - 1)
        return [chunks, *shared(call.shown), *ring]


def diagnosis(call: Call, arrays: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> Diagnosis:
    """The chunks against what known mistakes give."""
    size, n, total = call.size, len(arrays[0]), sum(arrays)
    actual, right = [each["array"]["sketch"] for each in call.shown], [sketch(each) for each in expected]
    alike = near(call.plan["dtype"])
    known = {
        "chunk-of-another-rank/next": [*right[1:], right[0]],
        "chunk-of-another-rank/previous": [right[-1], *right[:-1]],
        "whole-sum-returned": [sketch(total)] * size,
        "own-chunk-returned": [sketch(cut(arrays[rank], size)[rank]) for rank in range(size)],
        "rest-left-out": [sketch(each) for each in without_rest(total, size)],
        "rest-left-out/on the last": [sketch(each) for each in rest_on_the_last(total, size)],
    }
    rank = next((rank for rank in range(size) if not alike(actual[rank], right[rank])), 0)
    others = [other for other in range(size) if other != rank and alike(actual[rank], right[other])]
    about = {"rank": rank, "n": n, "size": size, "other": others[0] if others else rank}
    about |= {"actual": call.shown[rank]["array"]["shape"], "expected": len(expected[rank])}
    if len(about["actual"]) == 1:
        about["actual"] = about["actual"][0]
    made = partial(finding, **about)
    times = summands(actual[rank], [cut(values, size)[rank] for values in arrays])
    otherwise = made("other-chunk")
    if times and set(times) != {1}:
        otherwise = finding("summands-of-the-chunk", rank=rank, times=counted(times))
    return diagnose("chunk", actual, right, known, made, otherwise, alike)


CHECK = RingReduceScatter()
