"""Verdicts on the messages of one call, where ranks are to exchange messages: who may send to whom, how many, how
large, how many bytes by rank, and in how many rounds; see `autograde.rubric.communication.traffic`. A lab sets its own
prices."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.probes.under_way import CHANGED, STARTS
from autograde.rubric.communication.traffic import Traffic
from autograde.verdicts.collectives import MESSAGES, named
from course.watch.notes import note_of

CARRY_NOTHING = ("communicator", "probe")  # kinds of calls

finding = Findings("""
collective-for-messages 1
The ranks call {ops}: a collective of the library, in which all ranks take part and wait for each other. Here {words}
exchange messages, and no other rank should have to do with it.

other-messages 1
Rank {source} sends a message to rank {destination}. Only {words} should send messages to each other here. Draw the
ranks and your arrows, and see which one is not asked for.

message-not-received 1
{who}, and no rank ever receives that message. Either it is one too many, or a receive is missing.

message-too-large 1
Rank {rank} sends a message of {bytes} bytes to rank {destination}, where {most} are enough. {hint}

through-one-rank 2
Everything goes through rank {rank}: it sends and receives {bytes} bytes in one call of your function, where {most} are
enough on every rank {where}. What could the others say to each other without it?

rounds-too-many 1
The messages of one call take {n} rounds, one after the other, where {most} are enough on {size} ranks. Which ranks wait
with their own message until they have received another, and have to?
""")


def collectives_among(logs: Sequence[Sequence[dict]], words: str, report: str = "") -> list[Finding]:
    """A finding for calls in which others than two ranks take part. logs: events by rank. words: who exchanges
    messages, such as "partners"."""
    events = [event for log in logs for event in log if event["kind"] not in (*MESSAGES, *CARRY_NOTHING)]
    return [finding("collective-for-messages", report, ops=named(events), words=words)] if events else []


def other_pairs(seen: Traffic, allowed: Collection[tuple[int, int]], words: str) -> list[Finding]:
    """Findings for messages between others than these pairs (source, destination). words: the same for the student."""
    return [
        finding("other-messages", source=source, destination=destination, words=words)
        for source, destination in sorted(seen.sends)
        if (source, destination) not in allowed
    ]


def too_large(seen: Traffic, most: int, hint: str) -> list[Finding]:
    """The finding for the first message of more bytes than that. hint: a question to its sender."""
    for each in seen.messages:
        if (each.bytes or 0) > most:
            about = {"rank": each.source, "destination": each.destination, "bytes": each.bytes}
            return [finding("message-too-large", most=most, hint=hint, **about)]
    return []


def through_one(seen: Traffic, most: int, where: str) -> list[Finding]:
    """The finding for a rank that has a part in every message, and sends and receives more bytes than that in all.
    where: the ranks of what, as "of a ring"."""
    both = zip(seen.bytes_sent(), seen.bytes_received(), strict=True)
    for rank, moved in enumerate(map(sum, both)):
        if moved > most and all(rank in pair for pair in seen.sends):
            return [finding("through-one-rank", rank=rank, bytes=moved, most=most, where=where)]
    return []


def more_rounds(seen: Traffic, most: int) -> list[Finding]:
    """The finding for messages that take more rounds than that."""
    return [finding("rounds-too-many", n=seen.rounds, most=most, size=seen.size)] if seen.rounds > most else []


def changed_under_way(log: Sequence[dict]) -> dict | None:
    """The call of one rank that began to send an array which changed before that was complete. log: the rank's events
    with the notes of `autograde.probes.under_way` among them."""
    starts = [event for event in log if event["op"] in STARTS]
    for event in log:
        said, _, number = (note_of(event) or "").rpartition(" ")
        begun = starts[int(number) :][:1] if said == CHANGED else []
        if begun and (begun[0]["end"] is None or event["start"] <= begun[0]["end"]):
            return begun[0]
    return None
