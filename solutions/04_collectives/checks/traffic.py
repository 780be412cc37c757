"""Which calls a collective of one's own may use, and what a ring is: neighbours, rounds and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import MESSAGES, named, only
from autograde.verdicts.judged import Call
from autograde.verdicts.traffic import Traffic, traffic
from course.world.report import name_ranks

finding = Findings("""
collective-of-mpi 3
The ranks call {ops}. That is a collective of the library; in this lab you build your own, of messages between two
ranks.

pickled-messages 1
Your messages are sent by {ops}, which packs them as Python objects. Send arrays as they are, by the calls with a
capital letter.

message-nobody-receives 1
Rank {source} sends a message to rank {target}, and no rank ever receives it.

ring-turned-round 1
Each rank sends to rank - 1. The ring goes the other way round: rank 0 sends to rank 1, and the last rank to rank 0.

each-to-each 1.5
The result is right. But each rank sends to all others. In a ring it has two neighbours: it sends to rank + 1 and
receives from rank - 1, which needs one link for each rank, and not one for each pair.

through-one-rank 2
The result is right. But everything goes through rank {rank}: it moves {bytes} bytes, where {most} are enough on every
rank of a ring.

not-the-ring 1.5
The result is right. But rank {source} sends to rank {target}, which is not the next one in the ring.

whole-arrays-go-round 2
The result is right. But your messages carry {bytes} bytes, as much as the whole array. A rank sends {total} bytes in
one call, where {most} are enough: {times:.1f} times as much. What does the next rank need in this round?

more-bytes-than-needed 1.5
The result is right. But rank {rank} sends a message of {bytes} bytes, where no chunk has more than {most}. Where do
you cut the array?

a-round-too-many 1
The result is right. But rank {rank} sends {n} messages on {size} ranks, where {most} are enough. What is in the last
one that its neighbour does not have yet?

rounds-doubled 1.5
The result is right, and each rank sends {n} messages. But they take {rounds} rounds, as some ranks wait with their own
message until they have received one. In a ring, all ranks can send at the same time.
""")


def ring_prices(**others: float) -> dict[str, float]:
    """What mistakes of all three rings cost here. others: of one of them, with _ for -."""
    keys = ("argument-changed", "not-waited-for", "no-such-rank", "message-not-received", "buffer-too-short")
    return dict.fromkeys(keys, 1) | {key.replace("_", "-"): price for key, price in others.items()}


def buffers_only(logs: Sequence[Sequence[dict]]) -> list[Finding]:
    """What the calls of a collective of one's own may not be. logs: events of one call, by rank."""
    events = [event for log in logs for event in log if event["kind"] not in ("communicator", "probe")]
    if others := [event for event in events if event["kind"] not in MESSAGES]:
        return [finding("collective-of-mpi", ops=named(others))]
    if pickled := [event for event in events if event["library"] == "mpi4py" and event["op"].islower()]:
        return [finding("pickled-messages", ops=named(pickled))]
    return []


def not_received(seen: Traffic) -> list[Finding]:
    """The finding for a message that nobody received."""
    lost = [each for each in seen.messages if each.arrived is None]
    return [finding("message-nobody-receives", source=lost[0].source, target=lost[0].destination)] if lost else []


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
    source, target = min(pairs - onward)
    for rank in range(size):
        if all(rank in pair for pair in pairs) and size > 2:
            total = seen.bytes_sent()[rank] + seen.bytes_received()[rank]
            return [finding("through-one-rank", rank=rank, bytes=total, most=2 * most)]
    return [finding("not-the-ring", source=source, target=target)]


def loads(seen: Traffic, whole: int, chunk: int, steps: int) -> list[Finding]:
    """How many bytes the messages have. Two ranks are no ring yet."""
    for each in seen.messages if seen.size > 2 else ():
        if (each.bytes or 0) <= chunk:
            continue
        total = max(seen.bytes_sent())
        if each.bytes >= whole:
            most = chunk * steps
            return [finding("whole-arrays-go-round", bytes=each.bytes, total=total, most=most, times=total / most)]
        return [finding("more-bytes-than-needed", rank=each.source, bytes=each.bytes, most=chunk)]
    return []


def in_rounds(seen: Traffic, size: int, steps: int) -> list[Finding]:
    """How many messages there are, and how many of them follow each other."""
    most = max([steps, *seen.steps()])
    found = [
        finding("a-round-too-many", rank=rank, n=n, size=size, most=steps)
        for rank, n in enumerate(seen.steps())
        if n > steps
    ][:1]
    if seen.rounds > most and size > 2:
        found.append(finding("rounds-doubled", n=most, rounds=seen.rounds))
    return found


def longest_chunk(entries: int, size: int) -> int:
    """Entries of the largest chunk, as np.array_split cuts."""
    return ceil(entries / size)


def who_differs(alike: Sequence[bool]) -> str:
    """The ranks whose result is another one, in words."""
    return name_ranks([rank for rank, same in enumerate(alike) if not same])
