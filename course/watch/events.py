"""What the watch saw of a rank: each call of mpi4py, torch.distributed and Horovod as one `Event`.

A `course.watch.recorder.Recorder` notes them in a `course.watch.log` as they happen, so the world can read them even
from a rank that hangs or was killed. Checks count them; `course.figures.ranks.timeline` draws them.
"""

from __future__ import annotations

import functools
import json
import os
from math import isfinite, isnan
from typing import Any, TypedDict

from course.watch.log import COUNT, TEXT, Slot, read, texts, unpacked

# Operations by their canonical name, each without what tells its variants apart, see `kind_of`.
BY_KIND = {
    "allreduce": "allreduce",
    "reduce": "reduce",
    "broadcast": "bcast broadcast",
    "gather": "gather gatherv",
    "allgather": "allgather allgatherv",
    "scatter": "scatter scatterv",
    "reduce_scatter": "reducescatter reducescatterblock",
    "alltoall": "alltoall alltoallv alltoallw permute",
    "scan": "scan exscan",
    "barrier": "barrier monitoredbarrier join",
    "send": "send ssend bsend rsend psend",
    "recv": "recv precv recvanysource",
    "sendrecv": "sendrecv sendrecvreplace",
    "probe": "probe mprobe",  # and those that do not wait
    "put": "put rput",
    "get": "get rget",
    "accumulate": "accumulate raccumulate getaccumulate rgetaccumulate fetchandop compareandswap",
    "communicator": (
        "dup dupwithinfo clone split splittype create creategroup createcart creategraph createdistgraph "
        "createdistgraphadjacent createintercomm createfromgroup createfromgroups merge sub spawn spawnmultiple accept "
        "connect"
    ),
}
NOTE = "note"  # the kind of what is no call, see `course.watch.notes`
WINDOW = "window"  # the kind of what opens a window, or synchronises one; what moves data through it is of these kinds:
MOVES = ("put", "get", "accumulate")
KINDS = {name: kind for kind, names in BY_KIND.items() for name in names.split()}
PREFIXES = ("grouped_", "neighbor_", "sparse_")
SUFFIXES = (
    *("_", "_async", "_init", "_autograd", "_inplace", "_coalesced", "_object_list", "_object", "_list", "_base"),
    *("_into_tensor", "_tensor", "_single"),
)

PREFIX = {"mpi4py": "comm", "torch": "dist", "horovod": "hvd"}
ANY = -1  # source or tag that a receive asks for: any
STATES = ("", "called", "under way", "awaited", "done")


class Call(TypedDict):
    """What is known of a call when it begins.

    op: its name in the library; kind: its canonical name, or "other". line: of the student's cell; prepared: for the
    start of a persistent request, the line that prepared it. peer: the root, or the rank at the other end of a message;
    source: whom a call that also sends receives from. tag: of a message.
    asked_source, asked_tag: what a receive or a probe asks for, ANY for any. reduction: its name. members: of the
    communicator or group, in its order. These are all numbers of ranks of the run, and None for a rank that is none of
    them, or is not known. context: tells communicators with these members apart, on all ranks alike; 0 for the first.
    bytes, dtype: of what this rank sends, see `course.watch.payload`; in a collective, what it brings, if anything: in
    a broadcast or a scatter the root alone does, in a reduce all ranks do, and the root alone has results. dtype is
    that of the room where a rank only receives into an array.
    room: bytes of what a rank has to receive into, in a receive, a broadcast or a scatter of arrays; in one of torch's
    or Horovod's broadcasts, also of what the root sends. values: the numbers that it puts in, where they are few.
    name: that the code gives to a call of Horovod's, which puts together what has the same name on all ranks. start:
    seconds since the run began.
    """

    library: str
    op: str
    kind: str
    line: int | None
    peer: int | None
    source: int | None
    tag: int | None
    asked_source: int | None
    asked_tag: int | None
    reduction: str | None
    members: list[int | None] | None
    context: int | None
    bytes: int | None
    room: int | None
    dtype: str | None
    values: list[float | None] | None
    prepared: int | None
    name: str | None
    start: float


class Event(Call):
    """A call as `read_log` returns it.

    received, received_tag: bytes and tag of the message that came. Of a receive or a probe, `peer` and `tag` are those
    of that message, too, and so is `source` of a call that also sends. results: the numbers that came out of a
    reduction, where they are few. times: how often a probe that does not wait was called like this, and found nothing;
    None for any other call, and for the probe that found something.
    waited: when the rank began to wait, in seconds since the run began: at the start, or later for an operation that
    goes on after its call; None: not yet. end: likewise; None: not complete. failed: whether it raised. state: "called"
    (has not returned), "under way" (has returned, its operation goes on), "awaited" (the rank waits for it) or "done".
    """

    received: int | None
    received_tag: int | None
    times: int | None
    results: list[float | None] | None
    waited: float | None
    end: float | None
    failed: bool
    state: str


class Description(TypedDict):
    """What a log says once for all calls that are alike. group: number of its members in the log."""

    library: str
    op: str
    line: int | None
    peer: int | None
    source: int | None
    tag: int | None
    asked_source: int | None
    asked_tag: int | None
    reduction: str | None
    group: int | None
    bytes: int | None
    room: int | None
    dtype: str | None
    prepared: int | None
    name: str | None


class DamagedLog(Exception):
    """The log of a rank's communication is not what a `Recorder` writes."""


@functools.cache
def kind_of(operation: str) -> str:
    """Canonical name of `operation`, e.g. ``allreduce`` for ``Iallreduce``, ``all_reduce`` or ``allreduce_async_``."""
    name = operation.removeprefix("Win.").lower().lstrip("_")
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    while stripped := next((suffix for suffix in SUFFIXES if name.endswith(suffix)), ""):
        name = name.removesuffix(stripped)
    name = name.replace("_", "")
    kind = KINDS.get(name) or KINDS.get(name.removeprefix("i"), "other")
    return WINDOW if operation.startswith("Win.") and kind not in MOVES else kind


def in_cell(filename: str) -> bool:
    """Whether this is the filename of a notebook cell, compiled by a check, by Jupyter or by IPython."""
    return filename.startswith(("<cell ", "<ipython-input")) or f"{os.sep}ipykernel_" in filename


def read_log(path: str) -> list[Event]:
    """The events of a log, in the order of the calls; a missing file has none.

    Raises DamagedLog for a file that no `Recorder` wrote.
    """
    slots, lines = read(path)
    reader = Reader()
    for line in lines:
        try:
            what, *rest = json.loads(line)
            getattr(reader, f"_{what}")(*rest)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            raise DamagedLog(f"{FOREIGN}: {line[:80].decode(errors='replace')}") from None
    try:
        return [reader.event(number, slot) for number, slot in slots]
    except (ArithmeticError, LookupError, ValueError) as error:
        raise DamagedLog(f"{FOREIGN}: {error}") from None


def cells_of(path: str) -> list[str]:
    """The files, as tracebacks name them, of the notebook cells that a log's calls come from."""
    found = [json.loads(line) for line in texts(path) if line.startswith(b'["cell", ')]
    return [name for _, name in found if isinstance(name, str)]


FOREIGN = "The record of what a rank communicates was written by something else"


class Reader:
    """Reads the lines and the slots of a log. Its methods raise LookupError, TypeError or ValueError for wrong ones."""

    def __init__(self) -> None:
        self.groups: list[tuple[list[int | None], int]] = []
        self.known: list[Description] = []
        self.values: dict[int, list[float | None]] = {}
        self.more: dict[int, dict[str, Any]] = {}

    def _group(self, members: list[int | None], context: int) -> None:
        self.groups.append((members, context))

    def _cell(self, name: str) -> None:
        """See `cells_of`."""

    def _call(self, known: Description) -> None:
        if known.keys() != Description.__annotations__.keys() or known["library"] not in (*PREFIX, NOTE):
            raise ValueError("not a description")
        group = known["group"]
        if group is not None and not 0 <= group < len(self.groups):
            raise ValueError("not a group")
        self.known.append(known)

    def _values(self, number: int, values: list[float | None]) -> None:
        self.values[number] = values

    def _more(self, number: int, more: dict[str, Any]) -> None:
        if more.keys() - Event.__annotations__.keys():
            raise ValueError("not an event's")
        self.more[number] = {name: value for name, value in more.items() if value is not None}

    def event(self, number: int, slot: Slot) -> Event:
        """The event of a slot."""
        known: dict[str, Any] = {**self.known[slot.known]}
        group, state = known.pop("group"), STATES[slot.state]
        if not (isfinite(slot.start) and isfinite(slot.end) and (isnan(slot.waited) or isfinite(slot.waited))):
            raise ValueError("not a time")
        members, context = (None, None) if group is None else self.groups[group]
        kind = NOTE if known["library"] == NOTE else kind_of(known["op"])
        known |= {"kind": kind, "members": members, "context": context}
        values = self.values.get(number) if slot.value_kind == TEXT else unpacked(slot.value_kind, slot.value)
        known |= {"values": values, "start": slot.start, "waited": None if isnan(slot.waited) else slot.waited}
        known |= {"received": None, "received_tag": None, "times": None, "results": None, "failed": False, "end": None}
        known |= {"state": state}
        if state == "done":
            if slot.result_kind == COUNT:
                known["times"] = int(slot.result)
            more = self.more.get(number, {}) if slot.result_kind == TEXT else {}
            known |= {"results": unpacked(slot.result_kind, slot.result), "end": slot.end, **more}
        return known
