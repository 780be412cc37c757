"""Judges of messages on a ring: to the next rank only, none larger than a chunk, in as few rounds as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autograde.rubric.communication.messages import buffer_messages, messages_alone, some_message, too_large
from autograde.rubric.communication.messages import words as of_messages
from autograde.rubric.communication.traffic import Traffic, traffic
from autograde.rubric.judge import Call, Judge, first_of, of_record
from autograde.rubric.words import Words, Wrong

words = Words("""
ring-turned-round: Each rank sends to rank - 1. The ring goes the other way round: rank 0 sends to rank 1, and the last
rank to rank 0.

each-to-each: Each rank sends to all others. In a ring it has two neighbours: it sends to rank + 1 and receives from
rank - 1, which needs one link for each rank, and not one for each pair.

through-one-rank: Everything goes through rank {rank}: it sends and receives {bytes:byte} in one call of your function,
where {most} are enough on every rank of a ring. What could the others say to each other without it?

whole-arrays-go-round: Your messages carry {bytes} bytes, as much as the whole array. A rank sends {total} bytes in one
call, where {most} are enough: {times:.1f} times as much. What does the next rank need in this round?

a-round-too-many: Rank {rank} sends {n:message} on {size:rank}, where {most} are enough. What is in the last one that
its neighbour does not have yet?

in-turns: The messages of one call take {n:round}, where {most} are enough on {size:rank}. Some ranks send first while
others receive first: that is safe, but half of the links are idle at any time. Which call uses both directions at once?

rounds-too-many: The messages of one call take {n:round}, one after the other, where {most} are enough on {size:rank}.
Which ranks wait with their own message until they have received another, and have to?
""")


@dataclass(frozen=True)
class Ring:
    """Judges of the messages on a ring.

    steps: of a number of ranks, messages of a rank, at most, and rounds. whole, chunk: of a call, bytes of the array,
    and of the largest chunk. seen: of a call, its messages.
    """

    steps: Callable[[int], int]
    whole: Callable[[Call], int]
    chunk: Callable[[Call], int]
    seen: Callable[[Call], Traffic] = field(default=lambda call: traffic(call.events))
    of_record = True  # see `autograde.rubric.criterion.of_record`

    def something_sent(self, call: Call) -> Wrong | None:
        """Where there is an array, ranks send messages."""
        return some_message(lambda call: call.size > 1 and self.whole(call) > 0 and not self.seen(call).messages)(call)

    def __call__(self, call: Call) -> Wrong | None:
        """Messages carry arrays to the next rank only, none has more bytes than a chunk, and none is too many."""
        if wrong := first_of(messages_alone, buffer_messages, self.something_sent)(call):
            return wrong
        seen, steps = self.seen(call), self.steps(call.size)
        if not self.whole(call):
            return None
        return self.neighbours(seen, self.chunk(call) * steps) or self.bytes(call, seen) or self.too_many(seen, steps)

    def neighbours(self, seen: Traffic, most: int) -> Wrong | None:
        """Each rank sends to the next one only. most: bytes that a rank need send."""
        size, pairs = seen.size, {*seen.sends}
        onward = {(rank, (rank + 1) % size) for rank in range(size)}
        if pairs <= onward:
            return None
        if pairs <= {(target, source) for source, target in onward}:
            return words("ring-turned-round")
        if len(pairs) == size * (size - 1):
            return words("each-to-each")
        if size > 2 and (wrong := self.through_one(seen, 2 * most)):
            return wrong
        source, destination = min(pairs - onward)
        who = "a rank and the next one in the ring"
        return of_messages("message-to-another-rank", source=source, destination=destination, who=who)

    @staticmethod
    def through_one(seen: Traffic, most: int) -> Wrong | None:
        """No rank has a part in every message, and sends and receives more bytes than that in all."""
        for rank, both in enumerate(zip(seen.bytes_sent(), seen.bytes_received(), strict=True)):
            if sum(both) > most and all(rank in pair for pair in seen.sends):
                return words("through-one-rank", rank=rank, bytes=sum(both), most=most)
        return None

    def bytes(self, call: Call, seen: Traffic) -> Wrong | None:
        """No message is larger than a chunk. Two ranks are no ring yet."""
        chunk, whole = self.chunk(call), self.whole(call)
        if seen.size < 3:
            return None
        large = next((each.bytes for each in seen.messages if (each.bytes or 0) > chunk), 0)
        if large >= whole and large:
            total, most = max(seen.bytes_sent()), chunk * self.steps(seen.size)
            return words("whole-arrays-go-round", bytes=large, total=total, most=most, times=total / most)
        return too_large(seen, chunk, call.arguments["dtype"], "No chunk has more. Where do you cut the array?")

    @staticmethod
    def too_many(seen: Traffic, steps: int) -> Wrong | None:
        """No rank sends more messages than there are rounds."""
        for rank, n in enumerate(seen.steps()):
            if n > steps:
                return words("a-round-too-many", rank=rank, n=n, size=seen.size, most=steps)
        return None

    def both_ways(self, returned: Judge) -> Judge:
        """The judge of this: ranks send and receive at the same time, so that it takes no more rounds than a ring
        needs, and nothing needs a send that returns before its receive. returned: the judge of what a call gives."""
        return of_record(lambda call: returned(call) if call.sends_wait else self.rounds(call))

    def rounds(self, call: Call) -> Wrong | None:
        """The messages take no more rounds than a ring needs."""
        seen, most = self.seen(call), self.steps(call.size)
        if call.size < 3 or not self.whole(call) or seen.rounds <= most:
            return None
        key = "in-turns" if seen.rounds <= 2 * most else "rounds-too-many"
        return words(key, n=seen.rounds, most=most, size=call.size)
