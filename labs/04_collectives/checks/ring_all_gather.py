"""The check of `ring_all_gather`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import stuck
from course.simulated.safe import safe

from .arrays import near, not_as_expected, other_shape, shape_of_shown, shared, shown, sketch, values_of
from .traffic import around_the_ring, buffers_only, ring_prices

finding = Findings("""
order-of-arrival 1.5
Rank {rank} has all chunks, in the order in which they came to it: those of ranks {order}. The order of the ranks is
expected, on every rank.

own-chunk-sent-each-time 2
Rank {rank} has the chunk of rank {previous} everywhere but at its own place. Its neighbour sends the same chunk in
every round. What is new to the next rank in the second round?

own-length-in-each-round 1.5
Rank {rank} sends {n} entries in each round, as many as its own chunk has, and a neighbour has no room for them. Which
chunk goes on in the second round, and how long is that one?

right-on-some-ranks 1.5
Rank {rank} does not have all chunks at their places, while others do. Every rank needs all of them.

other-gathered 2
On rank {rank}, with chunks of {lengths} entries, entry {place} is {actual:.8g}, where {expected:.8g} of rank {owner}'s
chunk is expected.
""")


def chunk_of(rank: int, plan: dict) -> np.ndarray:
    """The chunk that a rank brings."""
    return values_of(rank, plan | {"shape": [plan["lengths"][rank]]})


class RingAllGather(CallCheck, JudgedCalls):
    """All chunks on every rank, and how they went round."""

    todo, points = "ring_all_gather", 2
    prices = MappingProxyType(ring_prices(buffer_too_short=1.5))
    consolidation = (
        "What comes in is kept, and passed on in the next round. So each chunk travels once round the ring, and no "
        "rank has to send anything twice."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Chunks of the same length and of very different ones, some without entries; plain and safe."""

        def call(lengths: list[int], dtype: str, safe: bool = True) -> dict:
            rng.shuffle(lengths)
            return {"lengths": lengths, "dtype": dtype, "safe": safe, "seed": rng.getrandbits(32)}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls], "late": rng.randrange(len(ranks))}

        cases = [
            case(
                [0, 1, 2, 3],
                call([3, 3, 3, 3], "float64"),
                call([5, 0, 7, 1], "int64"),
                call([9000, 2, 4000, 0], "float32", False),
            ),
            case([2, 0, 3], call([4, 1, 2], "float64"), call([0, 0, 0], "int64"), call([5000, 1, 0], "int64")),
            case([3, 1], call([0, 6], "float32", False), call([2, 5], "float64")),
            case([1], call([4], "float64")),
        ]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What this rank returned."""
        own = chunk_of(rank.rank, call)
        rank.argument("chunk", own)
        comm = safe(rank.comm) if call["safe"] else rank.comm
        return shown(function(comm, own, [*call["lengths"]]), own)

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """An array, or what came instead."""
        return shape_of_shown()

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """A message that is as long as the sender's own chunk, and too long; else, who waits for whom."""
        if run.state == "raised" and (found := own_lengths_sent(case, run)):
            return found
        return stuck(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The chunks on every rank, and then the ring."""
        size, lengths = call.size, call.plan["lengths"]
        chunks = [chunk_of(rank, call.plan) for rank in range(size)]
        expected = [np.concatenate(chunks)] * size
        if found := buffers_only(call.events) or not_as_expected(call.shown, expected):
            return found
        if (shape := other_shape(call.shown, expected)) is not None:
            return [shape]
        numbers = diagnosis(call, chunks)
        if numbers.otherwise is not None:
            return [numbers]
        item = chunks[0].itemsize
        ring = around_the_ring(call, sum(lengths) * item, max(lengths) * item, size - 1)
        return [numbers, *shared(call.shown), *ring]


def own_lengths_sent(case: dict, run: Run) -> list[Finding]:
    """A finding if a rank has sent as much as its own chunk in more than one round, where all lengths differ."""
    lengths, size = case["calls"][run.reached]["lengths"], len(case["ranks"])
    item = np.dtype(case["calls"][run.reached]["dtype"]).itemsize
    for rank, log in enumerate(run.of_call(run.reached)):
        sent = [event["bytes"] for event in log if event["kind"] in ("send", "sendrecv")]
        if len(sent) > 1 and {*sent} == {lengths[rank] * item} and len({*lengths}) == size:
            return [finding("own-length-in-each-round", run.report, rank=rank, n=lengths[rank])]
    return []


def diagnosis(call: Call, chunks: list[np.ndarray]) -> Diagnosis:
    """What every rank has against what known mistakes give."""
    size, lengths = call.size, call.plan["lengths"]
    whole = np.concatenate(chunks)
    actual, right = [each["array"]["sketch"] for each in call.shown], [sketch(whole)] * size
    alike = near(call.plan["dtype"])

    def in_order(rank: int, first: int, step: int) -> list:
        return sketch(np.concatenate([chunks[(rank + first + step * place) % size] for place in range(size)]))

    orders = {"own first": (0, -1), "own last": (-1, -1), "own first, upwards": (0, 1), "own last, upwards": (1, 1)}
    known = {
        f"order-of-arrival/{name}": [in_order(rank, *order) for rank in range(size)] for name, order in orders.items()
    }
    if len({*lengths}) == 1:
        same = [
            sketch(np.concatenate([chunks[rank if place == rank else rank - 1] for place in range(size)]))
            for rank in range(size)
        ]
        known["own-chunk-sent-each-time"] = same
    wrong = [rank for rank in range(size) if not alike(actual[rank], right[rank])]
    rank = wrong[0] if wrong else 0
    about = {"rank": rank, "previous": (rank - 1) % size, "lengths": ", ".join(map(str, lengths))}
    order = next((key for key in known if key.startswith("order") and alike(actual[rank], known[key][rank])), None)
    if order is not None:
        first, step = orders[order.partition("/")[2]]
        about["order"] = ", ".join(str((rank + first + step * place) % size) for place in range(size))
    made = partial(finding, **about)
    if wrong and len(wrong) < size:
        otherwise = finding("right-on-some-ranks", rank=rank)
    else:
        otherwise = elsewhere(actual[rank], right[rank], made, lengths) if wrong else made("right-on-some-ranks")
    return diagnose("gathered", actual, right, known, made, otherwise, alike)


def elsewhere(actual: list, right: list, made: Callable[..., Finding], lengths: list[int]) -> Finding:
    """The finding for an entry which is not the expected one."""
    place = next((place for place in range(len(right)) if actual[place] != right[place]), 0)
    ends = np.cumsum(lengths)
    owner = int(np.searchsorted(ends, place, side="right")) if ends[-1] == len(right) else 0
    return made("other-gathered", place=place, owner=owner, actual=actual[place] or 0.0, expected=right[place])


CHECK = RingAllGather()
