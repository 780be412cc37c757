"""Who sent what to whom: messages between pairs of ranks, for TODOs on trees, rings and the like.

Pure functions of the events of one call of the student's function, see `course.watch.events`. Collectives are no
messages. A `sendrecv` names its destination only: what it receives is the next message that is there for this rank.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """A message that was sent. bytes: None where it could not be measured. received: whether it arrived.

    round: counted from 1. It comes after those of all messages that its source sent or received before, and that its
    destination received before it: a rank sends one message at a time, and receives one at a time.
    """

    source: int
    destination: int
    bytes: int | None
    round: int
    received: bool


@dataclass(frozen=True)
class Action:
    """A rank's part in a message. at: when it sent, or had received. peer: the other; None where any may be."""

    at: float
    sends: bool
    peer: int | None
    bytes: int | None


@dataclass(frozen=True)
class Traffic:
    """All messages of one call on `size` ranks."""

    size: int
    messages: tuple[Message, ...]

    @property
    def sends(self) -> Counter[tuple[int, int]]:
        """How many messages, by (source, destination)."""
        return Counter((message.source, message.destination) for message in self.messages)

    @property
    def rounds(self) -> int:
        """Length of the longest chain of messages that had to follow each other: ceil(log2 N) for a binomial tree of N
        ranks, N - 1 where one rank sends to all others."""
        return max((message.round for message in self.messages), default=0)

    def bytes_sent(self) -> list[int]:
        """By rank."""
        return self.summed("source", self.messages)

    def bytes_received(self) -> list[int]:
        """By rank; of messages that arrived."""
        return self.summed("destination", [message for message in self.messages if message.received])

    def summed(self, end: str, messages: Sequence[Message]) -> list[int]:
        """Bytes by the rank at one end of the messages."""
        totals = [0] * self.size
        for message in messages:
            totals[getattr(message, end)] += message.bytes or 0
        return totals

    def ring(self) -> list[int] | None:
        """The ranks in the order of the ring, from 0, if each sends to one neighbour only, and all are in one ring."""
        targets = {source: {end for start, end in self.sends if start == source} for source in range(self.size)}
        if self.size < 2 or any(len(ends) != 1 for ends in targets.values()):
            return None
        order = [0]
        while (following := min(targets[order[-1]])) not in order:
            order.append(following)
        return order if len(order) == self.size and following == 0 else None

    def steps(self) -> list[int]:
        """How many messages each rank sends: 2 (N - 1) in an all-reduce on a ring of N ranks."""
        return [sum(times for (source, _), times in self.sends.items() if source == rank) for rank in range(self.size)]


def traffic(logs: Sequence[Sequence[dict]]) -> Traffic:
    """The messages of one call. logs: its events, one list a rank.

    Sends and receives of two ranks are matched in their order; a receive that names no source takes what is there.
    """
    size = len(logs)
    waiting = [deque(sorted(actions(log, size), key=lambda action: action.at)) for log in logs]
    under_way: dict[tuple[int, int], deque[tuple[int, Action]]] = defaultdict(deque)
    sent, received = [0] * size, [0] * size  # the round in which each rank last sent, and received
    messages: list[Message] = []
    while rank := next_rank(waiting, under_way):
        own, found = rank
        action = waiting[own].popleft()
        if action.sends:
            under_way[own, action.peer].append((max(sent[own], received[own]) + 1, action))
            sent[own] = under_way[own, action.peer][-1][0]
        elif found is not None:
            earliest, sending = under_way[found, own].popleft()
            received[own] = max(earliest, received[own] + 1)
            messages.append(Message(found, own, sending.bytes, received[own], True))
    lost = [(pair, each) for pair, queue in under_way.items() for each in queue]
    messages += [Message(*pair, sending.bytes, number, False) for pair, (number, sending) in lost]
    return Traffic(size, tuple(messages))


def next_rank(waiting: Sequence[deque[Action]], under_way: dict) -> tuple[int, int | None] | None:
    """The rank whose next action can be followed, and the source of what it receives; None when all is done.

    Where no rank can go on, the first one drops a receive for which nothing was sent.
    """
    left = [rank for rank, actions in enumerate(waiting) if actions]
    for rank in left:
        if waiting[rank][0].sends:
            return rank, None
    for rank in left:
        named = waiting[rank][0].peer
        there = [pair for pair, queue in under_way.items() if queue and pair[1] == rank and named in (None, pair[0])]
        if there:
            return rank, min(there, key=lambda pair: under_way[pair][0][1].at)[0]
    return (left[0], None) if left else None


def actions(log: Sequence[dict], size: int) -> Iterator[Action]:
    """What a rank sent and received, of `size` ranks. A message to or from no rank there is, is none."""
    for event in log:
        peer, kind = event["peer"], event["kind"]
        if kind in ("send", "sendrecv") and is_rank(peer, size):
            yield Action(event["start"], True, peer, event["bytes"])
        anybody = kind == "sendrecv" or peer is None or peer == -1  # MPI.ANY_SOURCE
        if kind in ("recv", "sendrecv") and event["end"] is not None and (anybody or is_rank(peer, size)):
            yield Action(event["end"], False, None if anybody else peer, None)


def is_rank(peer: Any, size: int) -> bool:
    """Whether this is the number of a rank: it is whatever the student passed."""
    return isinstance(peer, int) and not isinstance(peer, bool) and 0 <= peer < size
