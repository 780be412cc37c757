"""Records each mpi4py, torch.distributed and Horovod call of one rank.

During a run, a `Recorder` sits between the student's code and the three libraries. Each call is one `Event`. Events go
to a log file as they happen, so the world can read them even from a rank that hangs or has died. Checks count them;
`course.figures.ranks.timeline` draws them.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypedDict

# Canonical name of each operation of the three libraries, by its name in lower case.
KINDS = {
    "allreduce": "allreduce",
    "all_reduce": "allreduce",
    "all_reduce_coalesced": "allreduce",
    "grouped_allreduce": "allreduce",
    "reduce": "reduce",
    "bcast": "broadcast",
    "broadcast": "broadcast",
    "broadcast_object_list": "broadcast",
    "broadcast_object": "broadcast",
    "gather": "gather",
    "gatherv": "gather",
    "gather_object": "gather",
    "allgather": "allgather",
    "allgatherv": "allgather",
    "all_gather": "allgather",
    "all_gather_into_tensor": "allgather",
    "all_gather_object": "allgather",
    "allgather_object": "allgather",
    "scatter": "scatter",
    "scatterv": "scatter",
    "scatter_object_list": "scatter",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_block": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reducescatter": "reduce_scatter",
    "alltoall": "alltoall",
    "alltoallv": "alltoall",
    "all_to_all": "alltoall",
    "all_to_all_single": "alltoall",
    "scan": "scan",
    "exscan": "scan",
    "barrier": "barrier",
    "send": "send",
    "ssend": "send",
    "recv": "recv",
    "sendrecv": "sendrecv",
}


class Call(TypedDict):
    """What the log holds of a call when it begins.

    op: its name in the library; kind: its canonical name. line: of the student's cell. peer: the root, or the other
    rank. ranks: in the communicator. bytes, dtype, value: see `course.watch.payload`. start: seconds since the run
    began.
    """

    library: str
    op: str
    kind: str
    line: int | None
    peer: int | None
    reduction: str | None
    ranks: int | None
    bytes: int | None
    dtype: str | None
    value: float | None
    start: float


class Event(Call):
    """A call as `read_log` returns it.

    end: seconds since the run began; None: not complete. failed: whether it raised. state: "called" (has not returned),
    "under way" (has returned, its operation goes on), "awaited" (the rank waits for it) or "done".
    """

    end: float | None
    failed: bool
    state: str


KEYS = frozenset(Call.__annotations__)
LIMIT = 10_000  # events of one rank in one run; later calls are counted, not recorded


class DamagedLog(Exception):
    """The log of a rank's communication is not what a `Recorder` writes."""


def kind_of(operation: str) -> str:
    """Canonical name of `operation`, e.g. ``allreduce`` for ``Iallreduce``, ``all_reduce`` or ``allreduce_async_``."""
    name = operation.lower().removesuffix("_").removesuffix("_async").removesuffix("_")
    if name not in KINDS and name[:1] == "i":
        name = name[1:]
    return KINDS.get(name, "other")


def in_cell(filename: str) -> bool:
    """Whether this is the filename of a notebook cell, compiled by a check, by Jupyter or by IPython."""
    return filename.startswith(("<cell ", "<ipython-input")) or f"{os.sep}ipykernel_" in filename


class Recorder:
    """Logs the communication calls of one rank: one JSON line when a call starts, and one when it ends.

    log: path of the file, which is overwritten. zero: when the run began, by time.time(), the same for all ranks.
    """

    def __init__(self, log: str, zero: float) -> None:
        self.began = time.perf_counter() - (time.time() - zero)
        self.count = 0
        self.depth = 0
        self.file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def close(self) -> None:
        """Close the log."""
        os.close(self.file)

    def start(self, library: str, operation: str, **about: Any) -> int:
        """Log that a call begins. Returns its number, or -1 if it is inside another call or beyond the limit."""
        self.depth += 1
        if self.depth > 1:
            return -1
        self.count += 1
        if self.count > LIMIT:
            return -1
        event = {"library": library, "op": operation, "kind": kind_of(operation), "line": calling_line(), **about}
        event["start"] = time.perf_counter() - self.began
        os.write(self.file, json.dumps(event).encode() + b"\n")
        return self.count - 1

    def leave(self) -> None:
        """Note that the call returned to the student's code; an asynchronous one may still be under way."""
        self.depth -= 1

    def end(self, number: int, failed: bool = False) -> None:
        """Log that call `number` is complete, or that it raised."""
        if number >= 0:
            end = b'{"of": %d, "end": %.9f%s}\n'
            os.write(
                self.file, end % (number, time.perf_counter() - self.began, b', "failed": true' if failed else b"")
            )

    def returned(self, number: int) -> None:
        """Log that call `number` returned while its operation goes on."""
        self.mark(number, b"under way")

    def waits(self, number: int) -> None:
        """Log that the rank now waits for call `number`, which returned earlier."""
        self.mark(number, b"awaited")

    def mark(self, number: int, state: bytes) -> None:
        """Log a new state of call `number`."""
        if number >= 0:
            os.write(self.file, b'{"of": %d, "state": "%s"}\n' % (number, state))

    def wrap(self, library: str, operation: str, function: Callable, about: Callable, later: Callable) -> Callable:
        """A function that calls `function` and records the call.

        about(args, kwargs) returns what `Call` says of peer, reduction, ranks and payload; if it raises, they are None.
        If the operation goes on after the call, later(result, number) returns a result whose completion is recorded;
        else None.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            number = self.start(library, operation, **(known_of(about, args, kwargs) if self.depth == 0 else {}))
            try:
                result = function(*args, **kwargs)
            except BaseException:
                self.end(number, failed=True)
                raise
            finally:
                self.leave()
            watched = later(result, number) if number >= 0 else result
            if watched is not None:
                self.returned(number)
                return watched
            self.end(number)
            return result

        return named(call, f"{PREFIX[library]}.{operation}")


UNKNOWN = {"peer": None, "reduction": None, "ranks": None, "bytes": None, "dtype": None, "value": None}


def known_of(about: Callable, args: tuple, kwargs: dict) -> dict[str, Any]:
    """What `about` knows of a call's arguments, as JSON can hold it. Arguments that are wrong are the call's matter."""
    try:
        known = about(args, kwargs)
        peer = known["peer"]
        return {**known, "peer": None if peer is None else operator.index(peer)}
    except Exception:
        return UNKNOWN


PREFIX = {"mpi4py": "comm", "torch": "dist", "horovod": "hvd"}


def named(function: Callable, name: str) -> Callable:
    """Rename `function` in tracebacks, so that a report of a hang says which operation a rank waits in."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


def calling_line() -> int | None:
    """The line of the notebook cell that the current call comes from; None if it comes from no cell."""
    frame = sys._getframe(2)
    while frame is not None:
        if in_cell(frame.f_code.co_filename):
            return frame.f_lineno
        frame = frame.f_back
    return None


def read_log(path: str) -> list[Event]:
    """The events of a log, in the order of the calls.

    Drops a line that a killed process left half-written. A missing file has no events. Raises DamagedLog for a file
    that no `Recorder` wrote.
    """
    events: list[Event] = []
    try:
        with open(path) as file:
            lines = file.readlines()
    except FileNotFoundError:
        return events
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        try:
            if "of" in entry:
                events[entry.pop("of")].update(entry if "state" in entry else {**entry, "state": "done"})
                continue
            known = entry.keys() == KEYS and entry["library"] in PREFIX and isinstance(entry["op"], str)
        except (AttributeError, LookupError, TypeError):
            known = False
        if not known:
            raise DamagedLog(
                f"The record of what a rank communicates was written by something else: {line[:80].strip()}"
            )
        events.append({**entry, "end": None, "failed": False, "state": "called"})
    return events
