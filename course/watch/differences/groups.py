"""The collective calls of a run, by communicator: those that belong together stand in the same place."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from course.watch.events import Event
from course.watch.wording import name_ranks

COLLECTIVES = frozenset({"allreduce", "reduce", "broadcast", "gather", "allgather", "scatter", "reduce_scatter"})
COLLECTIVES |= {"alltoall", "scan", "barrier", "communicator"}
# Ways to make a communicator that not all ranks of the old one take part in, or that begin with none.
APART = ("create_group", "create_intercomm", "create_from_group", "create_from_groups", "spawn", "spawn_multiple")
APART += ("merge", "accept", "connect")


class Group(NamedTuple):
    """Who communicates with whom: a communicator, or a group of torch's, see `course.watch.events.Call`; of Horovod's
    calls with a name, by which name."""

    library: str
    members: tuple[int | None, ...]
    context: int | None
    name: str | None = None

    def words(self, size: int) -> str:
        """What a student may call it. size: number of ranks of the run."""
        if self.library == "torch":
            default = self.members == (*range(size),) and self.context == 0
            return "the default group" if default else f"{self.another}group of {self.whom(size)}"
        if None in self.members:
            return "MPI.COMM_WORLD"
        if self.members == (*range(size),) and self.context in (0, 1):
            return "MPI.COMM_WORLD" if self.context else "the communicator of this run"
        return f"{self.another}communicator of {self.whom(size)}"

    def place(self, number: int, size: int) -> str:
        """The place of a call in the order of those on it, from 0. size: see `words`."""
        if self.library == "horovod":
            by = f'by the name "{self.name}"' if self.name else "without a name"
        else:
            by = f"on {self.words(size)}"
        return f"as call number {number + 1} {by}"

    @property
    def rule(self) -> str:
        """What the ranks have to do, as a sentence."""
        if self.library != "horovod":
            return "All ranks of a communicator have to make the same calls in the same order."
        if self.name:
            return "Horovod puts together calls of one operation with one name."
        return "Horovod puts together the calls without a name by their order."

    @property
    def everyone(self) -> str:
        """Who has to make a call on it."""
        return "all ranks" if self.library == "horovod" else "all ranks of a communicator"

    @property
    def another(self) -> str:
        """The article: there may be others with the same members."""
        return "another " if self.context else "a "

    def whom(self, size: int) -> str:
        """Its members."""
        if len(self.members) == size > 2 and self.members == (*range(size),):
            return "all ranks"
        return name_ranks([rank for rank in self.members if rank is not None])


def group_of(event: Event) -> Group:
    """The communicator of a call."""
    return Group(event["library"], tuple(event["members"] or ()), event["context"], event["name"])


def is_collective(rank: int, event: Event) -> bool:
    """Whether all members of a communicator have to make this call of a rank, in the same order.

    Between two groups, and in persistent calls, which are matched where they are prepared, no order is known.
    """
    return is_ordered(event["library"], event["kind"], event["op"]) and rank in (event["members"] or ())


@functools.cache
def is_ordered(library: str, kind: str, operation: str) -> bool:
    """Whether a call with this name is one of those."""
    apart = operation.lower() in APART or operation.endswith("_init")
    return kind in COLLECTIVES and not apart


def operation_of(event: Event) -> str:
    """What has to be the same on all ranks. torch and Horovod have several names for one thing, and so has mpi4py for a
    barrier."""
    if event["library"] != "mpi4py":
        return event["kind"] + " of objects" * ("object" in event["op"])
    return "Barrier" if event["op"] == "barrier" else event["op"]


Streams = dict[Group, dict[int, list[Event]]]


def streams(logs: Sequence[Sequence[Event]]) -> Streams:
    """The collective calls on each communicator, by rank, in their order. logs: events by rank."""
    found: Streams = defaultdict(lambda: defaultdict(list))
    for rank, log in enumerate(logs):
        for event in log:
            if is_collective(rank, event):
                found[group_of(event)][rank].append(event)
    return found


def items_in(size: int | None, dtype: str | None) -> str:
    """``3 numbers of float64``, or else ``24 bytes``."""
    width = re.fullmatch(r"[a-z]+(8|16|32|64|128)", dtype or "")
    if size is None or not width or size % (bits := int(width[1]) // 8):
        return f"{size} bytes"
    return f"{size // bits} number{'s' * (size != bits)} of {dtype}"


def comparable(dtype: str | None) -> bool:
    """Whether this is the type of numbers. Bytes may stand for whatever, and of other types the record has names only,
    which differ also where they fit."""
    return bool(re.fullmatch(r"(u?int|float|bfloat|complex)(16|32|64|128)", dtype or ""))
