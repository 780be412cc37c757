"""Judges of how many collectives a call makes, of which kind, and of how many bytes, and whether they fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

from autograde.rubric.communication.calls import CARRY_NOTHING, MESSAGES, events_of, named
from autograde.rubric.judge import Call, of_record
from autograde.rubric.words import Words, Wrong
from course.watch.differences import differences

words = Words("""
other-collectives: In one call of your function, the ranks call {ops}. {due}, and nothing else, is expected.

messages-for-a-collective: The ranks send messages to each other: {ops}. A collective call tells every rank what it
needs, and the library knows good ways to do that.

one-row-would-do: In one call of your function, rank {rank} makes {n:call} of {op}. Each of them pays its latency anew.
What can be sent as one row?

many-collectives: One call of your function makes {n} collective calls on rank {rank}: {ops}. {most} are enough,
whatever you do.

other-bytes-in-the-row: Rank {rank} brings {actual:byte} to its {name}, where {expected} are expected.

too-many-bytes-in-a-call: Rank {rank} brings {actual:byte} to a collective call, where {expected} are enough. What can
it work out by itself first?
""")


@of_record
def in_step(call: Call) -> Wrong | None:
    """Judge: what the ranks call belongs together in order, size and type, and they wait for all that they start, as
    `course.watch.differences` compares it. Where a run broke off, a check tells that without a judge."""
    ranks = [SimpleNamespace(events=log, state="returned", full=False, unseen=False, cells=()) for log in call.events]
    found = next(iter(differences(ranks)), None)
    return found and Wrong(found.key, found.text, absent=found.key in ("never-waited", "call-missing"))


@dataclass(frozen=True)
class Collectives:
    """On each rank, a call makes so many collectives of this library, and communicates in no other way.

    A single rank needs none. library: "mpi4py", "torch" or "horovod". kind: of them, as of `course.watch.events`;
    empty: any. name: of that kind, in words, such as "all-gather". least, most: how many. nbytes: of a call, the bytes
    that a rank brings to each. most_bytes: of a call, those that it may bring at most. splits: whether to
    make a communicator counts as one.
    """

    of_record: ClassVar[bool] = True
    library: str
    kind: str = ""
    name: str = ""
    least: int = 1
    most: int = 1
    nbytes: Callable[[Call], int] | None = None
    most_bytes: Callable[[Call], int] | None = None
    splits: bool = False

    def __call__(self, call: Call) -> Wrong | None:
        """The first rank that communicates otherwise."""
        apart = CARRY_NOTHING - ({"communicator"} if self.splits else set())
        logs = [[event for event in log if event["kind"] not in apart] for log in call.events]
        for rank, log in enumerate(logs if call.size > 1 else ()):
            if wrong := self.others(logs, log) or self.numbers(rank, log) or self.bytes(call, rank, log):
                return wrong
        return None

    def others(self, logs: list[list[dict]], log: list[dict]) -> Wrong | None:
        """What is wrong if a rank communicates in another way. logs: by rank; log: of this one."""
        ops = named(events_of(logs)) or "nothing"
        if any(event["kind"] in MESSAGES for event in log) and not self.kind:
            return words("messages-for-a-collective", ops=ops)
        strange = any(event["library"] != self.library or self.kind not in ("", event["kind"]) for event in log)
        if strange or len(log) < self.least:
            due = f"one {self.name}" if self.most == 1 else f"{self.most} {self.name}s" if self.name else self.library
            return words("other-collectives", ops=ops, due=due[0].upper() + due[1:], absent=not strange)
        return None

    def numbers(self, rank: int, log: list[dict]) -> Wrong | None:
        """What is wrong if a rank makes too many."""
        if len(log) <= self.most:
            return None
        if self.kind and self.most == 1:
            return words("one-row-would-do", rank=rank, n=len(log), op=log[0]["op"])
        return words("many-collectives", rank=rank, n=len(log), ops=named(log), most=self.most)

    def bytes(self, call: Call, rank: int, log: list[dict]) -> Wrong | None:
        """What is wrong with how many bytes a rank brings."""
        for number in (event["bytes"] for event in log if event["bytes"] is not None):
            if self.nbytes and number != (expected := self.nbytes(call)):
                return words("other-bytes-in-the-row", rank=rank, name=self.name, actual=number, expected=expected)
            if self.most_bytes and number > (expected := self.most_bytes(call)):
                return words("too-many-bytes-in-a-call", rank=rank, actual=number, expected=expected)
        return None
