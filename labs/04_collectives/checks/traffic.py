"""Which calls a collective of one's own may use, and what a ring is: neighbours, rounds and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import MESSAGES, named, only
from autograde.verdicts.exchanges import (
    collectives_among,
    more_rounds,
    not_received,
    other_pairs,
    through_one,
    too_large,
)
from autograde.verdicts.judged import Call
from autograde.verdicts.traffic import Traffic, traffic
from course.world.report import name_ranks

finding = Findings("""
pickled-messages 1
Your messages are sent by {ops}, which packs them as Python objects. Send arrays as they are, by the calls with a
capital letter.

ring-turned-round 1
Each rank sends to rank - 1. The ring goes the other way round: rank 0 sends to rank 1, and the last rank to rank 0.

each-to-each 1.5
The result is right. But each rank sends to all others. In a ring it has two neighbours: it sends to rank + 1 and
receives from rank - 1, which needs one link for each rank, and not one for each pair.

whole-arrays-go-round 2
The result is right. But your messages carry {bytes} bytes, as much as the whole array. A rank sends {total} bytes in
one call, where {most} are enough: {times:.1f} times as much. What does the next rank need in this round?

a-round-too-many 1
The result is right. But rank {rank} sends {n} messages on {size} ranks, where {most} are enough. What is in the last
one that its neighbour does not have yet?
""")


MESSAGES_ONLY = {"collective-for-messages": 3}  # what that costs in all TODOs of this lab


def ring_prices(**others: float) -> dict[str, float]:
    """What mistakes of all three rings cost here. others: of one of them, with _ for -."""
    keys = ("argument-changed", "not-waited-for", "no-such-rank", "message-not-received", "buffer-too-short")
    prices = dict.fromkeys(keys, 1) | {key.replace("_", "-"): price for key, price in others.items()}
    return prices | MESSAGES_ONLY | dict.fromkeys(("other-messages", "message-too-large", "rounds-too-many"), 1.5)


def buffers_only(logs: Sequence[Sequence[dict]]) -> list[Finding]:
    """What the calls of a collective of one's own may not be. logs: events of one call, by rank."""
    if others := collectives_among(logs, "two ranks at a time"):
        return others
    events = [event for log in logs for event in log if event["kind"] in MESSAGES]
    if pickled := [event for event in events if event["library"] == "mpi4py" and event["op"].islower()]:
        return [finding("pickled-messages", ops=named(pickled))]
    return []


def around_the_ring(call: Call, whole: int, chunk: int, steps: int) -> list[Finding]:
    """What is wrong with the messages of a call whose result is right.

    whole: bytes of the array; chunk: bytes of the largest chunk; steps: messages of a rank, at most, and rounds.
    """
    size, seen = call.size, traffic(call.events)
    if found := [*buffers_only(call.events), *only("mpi4py", call.events), *not_received(seen)]:
        return found
    if not whole:
        return []
    return neighbours(seen, chunk * steps) or loads(seen, whole, chunk, steps) or in_rounds(seen, size, steps)


def neighbours(seen: Traffic, most: int) -> list[Finding]:
    """Whether each rank sends to the next one only. most: bytes that a rank need send."""
    size = seen.size
    onward = {(rank, (rank + 1) % size) for rank in range(size)}
    back = {(target, source) for source, target in onward}
    pairs = {*seen.sends}
    if pairs <= onward:
        return []
    if pairs <= back:
        return [finding("ring-turned-round")]
    if len(pairs) == size * (size - 1):
        return [finding("each-to-each")]
    if size > 2 and (found := through_one(seen, 2 * most, "of a ring")):
        return found
    return other_pairs(seen, onward, "a rank and the next one in the ring")[:1]


def loads(seen: Traffic, whole: int, chunk: int, steps: int) -> list[Finding]:
    """How many bytes the messages have. Two ranks are no ring yet."""
    if seen.size < 3 or not (large := too_large(seen, chunk, "No chunk has more. Where do you cut the array?")):
        return []
    first = next(each.bytes or 0 for each in seen.messages if (each.bytes or 0) > chunk)
    if first < whole:
        return large
    total, most = max(seen.bytes_sent()), chunk * steps
    return [finding("whole-arrays-go-round", bytes=first, total=total, most=most, times=total / most)]


def in_rounds(seen: Traffic, size: int, steps: int) -> list[Finding]:
    """How many messages there are, and how many of them follow each other."""
    most = max([steps, *seen.steps()])
    found = [
        finding("a-round-too-many", rank=rank, n=n, size=size, most=steps)
        for rank, n in enumerate(seen.steps())
        if n > steps
    ][:1]
    return [*found, *(more_rounds(seen, most) if size > 2 else [])]


def longest_chunk(entries: int, size: int) -> int:
    """Entries of the largest chunk, as np.array_split cuts."""
    return ceil(entries / size)


def who_differs(alike: Sequence[bool]) -> str:
    """The ranks whose result is another one, in words."""
    return name_ranks([rank for rank, same in enumerate(alike) if not same])
