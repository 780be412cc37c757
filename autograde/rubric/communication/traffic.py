"""Who sent what to whom, as a check of trees, rings and the like asks for it.

Pure functions of the events of one call of the student's function, see `course.watch.messages`. Collectives are no
messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograde.rubric.communication.calls import MESSAGES
from course.watch.messages import Message, messages


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
        return self.summed("destination", [message for message in self.messages if message.arrived is not None])

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


def partners(event: dict) -> set[int]:
    """With whom a call exchanges: the ranks at the other ends of a message; of a collective, those that take part. What
    is no rank of the run is left out."""
    ends = [event["peer"], event["source"]] if event["kind"] in MESSAGES else event["members"] or ()
    return {rank for rank in ends if rank is not None and rank >= 0}


def traffic(logs: Sequence[Sequence[dict]]) -> Traffic:
    """The messages of one call. logs: its events, one list a rank."""
    return Traffic(len(logs), tuple(messages(logs)))
