"""What the ranks did: a record of each mpi4py, torch.distributed and Horovod call of one rank.

A `Recorder` puts itself between the student's code and the three libraries while a run lasts. Each call is one event:
library, operation, bytes, peer, start, end and the line of the student's cell that made it. Events go to a log file as
they happen, so the world can read them also from a rank that hangs or died. Checks count with them;
`course.figures.timeline` draws them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Canonical name of an operation by the name it is called by, in any of the three libraries.
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

# What the log has of a call when it begins.
KEYS = {"library", "op", "kind", "line", "peer", "reduction", "ranks", "bytes", "dtype", "value", "start"}
LIMIT = 10_000  # events of one rank in one run; later calls are counted, not recorded


class DamagedLog(Exception):
    """The record of a rank's communication is not what a `Recorder` writes."""


def kind_of(operation: str) -> str:
    """Canonical name for `operation`, e.g. ``allreduce`` for ``Iallreduce``, ``all_reduce`` or ``allreduce_async_``."""
    name = operation.lower().removesuffix("_").removesuffix("_async").removesuffix("_")
    if name not in KINDS and name[:1] == "i":
        name = name[1:]
    return KINDS.get(name, "other")


def in_cell(filename: str) -> bool:
    """Whether code with this filename is a notebook's: a check's cell, or one that Jupyter or IPython compiled."""
    return filename.startswith(("<cell ", "<ipython-input")) or f"{os.sep}ipykernel_" in filename


class Recorder:
    """Writes the communication calls of one rank to a log, one JSON line when a call starts and one when it ends.

    log: path of the file, made anew. zero: when the run began, by time.time(), which all ranks share.
    """

    def __init__(self, log: str, zero: float) -> None:
        self.began = time.perf_counter() - (time.time() - zero)
        self.count = 0
        self.depth = 0
        self.file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def close(self) -> None:
        """End the log."""
        os.close(self.file)

    def start(self, library: str, operation: str, **about: Any) -> int:
        """Note that a call begins; return its number, or -1 if it lies inside another call or beyond the limit."""
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
        """The call returned to the student's code; an asynchronous one may still be under way."""
        self.depth -= 1

    def end(self, number: int, failed: bool = False) -> None:
        """Note that call `number` is complete, or that it raised."""
        if number >= 0:
            end = b'{"of": %d, "end": %.9f%s}\n'
            os.write(
                self.file, end % (number, time.perf_counter() - self.began, b', "failed": true' if failed else b"")
            )

    def returned(self, number: int) -> None:
        """Note that call `number` returned while its operation goes on."""
        self.mark(number, b"under way")

    def waits(self, number: int) -> None:
        """Note that the rank now waits for call `number`, which had returned before."""
        self.mark(number, b"awaited")

    def mark(self, number: int, state: bytes) -> None:
        """Change the state of call `number`."""
        if number >= 0:
            os.write(self.file, b'{"of": %d, "state": "%s"}\n' % (number, state))

    def wrap(self, library: str, operation: str, function: Callable, about: Callable, later: Callable) -> Callable:
        """`function`, recorded.

        about(args, kwargs) describes a call: the keys of `about_call`. later(result, number) returns the result to hand
        on, watched, where the operation goes on after the call, or None where it is complete.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            number = self.start(library, operation, **(about(args, kwargs) if self.depth == 0 else {}))
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


PREFIX = {"mpi4py": "comm", "torch": "dist", "horovod": "hvd"}


def named(function: Callable, name: str) -> Callable:
    """`function` under another name in tracebacks, so that a report of a hang says which operation a rank waits in."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


def calling_line() -> int | None:
    """The line of the notebook cell that the present call comes from."""
    frame = sys._getframe(2)
    while frame is not None:
        if in_cell(frame.f_code.co_filename):
            return frame.f_lineno
        frame = frame.f_back
    return None


def read_log(path: str) -> list[dict]:
    """The events of a log, in order of call.

    Each has the keys of `Recorder.start`, ``end`` (None: not complete), ``failed``, and ``state``: "called" (not
    returned), "under way" (returned, goes on), "awaited" or "done".

    A line that a killed process left half-written is dropped. A missing file has no events. Raises DamagedLog for one
    that no `Recorder` wrote.
    """
    events: list[dict] = []
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


@contextmanager
def recording(log: str, communicator: Any, zero: float) -> Iterator[Any]:
    """Record this rank's communication until the block ends; gives `communicator`, watched.

    Watches mpi4py, and torch.distributed and Horovod where they are imported already.
    """
    from course.watched import patched, watched_communicators

    recorder = Recorder(log, zero)
    try:
        communicators = watched_communicators(recorder)
        with patched(recorder, communicators):
            yield communicators(communicator)
            communicators.settle()
    finally:
        recorder.close()
