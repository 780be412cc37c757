"""Who sent what to whom: messages between pairs of ranks, and how many rounds they take one after the other.

Worked out from the events of a run, each rank's on its own clock: no times of two ranks are compared.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from course.watch.events import ANY, Event


@dataclass(frozen=True)
class Message:
    """A message from one rank of the run to another.

    bytes: None where they could not be measured. sent: start of the send, arrived: end of the receive, in seconds since
    the run began; None if it was not received. round: counted from 1, see `messages`. values: the numbers in it, where
    they are few.
    """

    source: int
    destination: int
    bytes: int | None
    tag: int | None
    sent: float
    arrived: float | None
    round: int
    values: Sequence[float | None] | None = None


@dataclass
class Half:
    """One rank's part in a message: a send, or a receive that has its place in `other`."""

    rank: int
    event: Event
    other: Half | None = None


def messages(events: Sequence[Sequence[Event]]) -> list[Message]:
    """The messages of a run, in the order of their rounds. events: by rank.

    A rank sends one message and receives one in a round. So a message comes a round after the one that its source sent
    before it, after the one that its destination received before it, and after all that its source had received when
    it began to send. Sends and receives meet in their order, as MPI promises: those of one pair of ranks, with one tag
    and in one communicator.
    """
    size = len(events)
    sends = [Half(rank, event) for rank, of_rank in enumerate(events) for event in of_rank if is_send(event, size)]
    receives = [Half(rank, event) for rank, of_rank in enumerate(events) for event in of_rank if is_receive(event)]
    meet(sends, receives)
    numbers = rounds_of(sends, receives)
    found = [message(send, numbers[number]) for number, send in enumerate(sends)]
    return sorted(found, key=lambda each: (each.round, each.source, each.destination))


def rounds(events: Sequence[Sequence[Event]]) -> int:
    """The length of the longest chain of messages that had to follow each other: ceil(log2 N) for a binomial tree of N
    ranks, N - 1 where one rank sends to all others."""
    return max((message.round for message in messages(events)), default=0)


def is_send(event: Event, size: int) -> bool:
    """Whether this call sends a message to a rank of the run. size: how many it has."""
    sends = event["kind"] in ("send", "sendrecv") and not event["failed"]
    return sends and event["peer"] is not None and 0 <= event["peer"] < size


def is_receive(event: Event) -> bool:
    """Whether this call receives a message, or waits for one."""
    return event["kind"] in ("recv", "sendrecv") and not event["failed"]


def sender(event: Event) -> int | None:
    """Whom a call receives from."""
    return event["source"] if event["kind"] == "sendrecv" else event["peer"]


def meet(sends: Iterable[Half], receives: Iterable[Half]) -> None:
    """Find the send of each receive."""
    waiting: dict[tuple, list[Half]] = defaultdict(list)
    for send in sends:
        waiting[place(send.rank, send.event["peer"], send.event)].append(send)
    for receive in receives:
        source = sender(receive.event)
        if source is None:
            continue
        there = waiting[place(source, receive.rank, receive.event)]
        tag = tag_of(receive.event)
        found = next((each for each in there if tag in (None, each.event["tag"])), None)
        if found is not None:
            there.remove(found)
            found.other, receive.other = receive, found


def place(source: int, destination: int, event: Event) -> tuple:
    """What a send and its receive have in common."""
    return source, destination, event["library"], tuple(event["members"] or ()), event["context"]


def tag_of(event: Event) -> int | None:
    """The tag of the message that a call receives, or waits for; None for any."""
    if event["kind"] == "recv":
        return event["tag"]
    tag = event["asked_tag"] if event["received_tag"] is None else event["received_tag"]
    return None if tag == ANY else tag


def rounds_of(sends: Sequence[Half], receives: Sequence[Half]) -> list[int]:
    """The round of each of the sends."""
    numbers = {id(send): number for number, send in enumerate(sends)}
    before: list[set[int]] = [set() for _ in sends]  # messages that a message comes after
    behind: list[set[int]] = [set() for _ in sends]  # of these, what only its destination received before
    arrivals: dict[int, deque[Half]] = defaultdict(deque)
    last: dict[int, int] = {}
    for receive in sorted((each for each in receives if each.other and each.event["end"] is not None), key=end_of):
        number = numbers[id(receive.other)]
        behind[number] |= {last[receive.rank]} if receive.rank in last else set()
        last[receive.rank] = number
        arrivals[receive.rank].append(receive)
    last.clear()
    for send in sorted(sends, key=lambda each: each.event["start"]):
        number = numbers[id(send)]
        before[number] |= {last[send.rank]} if send.rank in last else set()
        last[send.rank] = number
        had = arrivals[send.rank]
        while had and end_of(had[0]) <= send.event["start"]:  # earlier ones come before the send before this one
            before[number].add(numbers[id(had.popleft().other)])
    return longest(before, behind)


def longest(before: Sequence[set[int]], behind: Sequence[set[int]]) -> list[int]:
    """Length of the longest chain that ends with each message.

    A message that was sent early and received late may seem to come after one that comes after it: then what its
    destination received before it does not count.
    """
    waits = [[len(before[number]), len(behind[number])] for number in range(len(before))]
    after: list[list[tuple[int, int]]] = [[] for _ in before]
    for kind, earlier in enumerate((before, behind)):
        for number, others in enumerate(earlier):
            for other in others:
                after[other].append((number, kind))
    lengths, left = [1] * len(before), dict.fromkeys(range(len(before)))
    ready = deque(number for number in left if waits[number] == [0, 0])
    while left:
        if not ready:
            ready.append(next((number for number in left if not waits[number][0]), next(iter(left))))
        number = ready.popleft()
        if number not in left:
            continue
        del left[number]
        for other, kind in after[number]:
            if other in left:
                lengths[other] = max(lengths[other], lengths[number] + 1)
                waits[other][kind] -= 1
                if waits[other] == [0, 0]:
                    ready.append(other)
    return lengths


def end_of(half: Half) -> float:
    """When a receive was complete."""
    return half.event["end"]


def message(send: Half, number: int) -> Message:
    """The message of a send. number: its round."""
    event, receive = send.event, send.other
    arrived = receive.event["end"] if receive else None
    return Message(
        send.rank, event["peer"], event["bytes"], event["tag"], event["start"], arrived, number, event["values"]
    )
