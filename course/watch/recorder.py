"""Writes what one rank communicates to its log while it runs, in the form that `course.watch.events` reads.

During a run, a `Recorder` sits between the student's code and the three libraries. The log is a file in shared memory:
what is written to it survives the process, however that ends, and costs no call of the operating system.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from course.watch.events import LIMIT, PREFIX, USED, in_cell
from course.watch.payload import NOTHING, Payload

CHUNK = 2**16  # bytes by which a log grows


class Said(NamedTuple):
    """What a call's arguments say.

    about: peer, source, tag, reduction, group, bytes, dtype, see `course.watch.events.Description`. values: see
    `course.watch.events.Call`. finished: gives from the call's result, or the status of its request, what an `Event`
    tells of its end.
    """

    about: tuple
    values: list[float | None] | None
    finished: Callable[[Any], dict] | None


def said(
    peer: int | None = None,
    source: int | None = None,
    tag: int | None = None,
    reduction: str | None = None,
    group: int | None = None,
    payload: Payload = NOTHING,
    finished: Callable[[Any], dict] | None = None,
) -> Said:
    """What a call's arguments say, see `Said`."""
    about = (peer, source, tag, reduction, group, payload.bytes, payload.dtype)
    return Said._make((about, payload.values, finished))


class Log:
    """A file that grows, mapped into memory. path: is overwritten. Raises OSError where there is no room for it."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.posix_fallocate(self.file, 0, CHUNK)
        self.memory = mmap.mmap(self.file, CHUNK)
        self.used = USED.size
        USED.pack_into(self.memory, 0, self.used)

    def append(self, line: bytes) -> None:
        """Write a line; it is there when this returns."""
        end = self.used + len(line)
        if end > len(self.memory):
            size = -(-end // CHUNK) * CHUNK
            os.posix_fallocate(self.file, 0, size)  # else a full disk would be a signal, and not an error
            self.memory.resize(size)
        self.memory[self.used : end] = line
        self.used = end
        USED.pack_into(self.memory, 0, end)

    def close(self) -> None:
        """Let go of the file."""
        self.memory.close()
        os.close(self.file)


class Recorder:
    """Logs the communication calls of one rank.

    log: path of the file, which is overwritten. zero: when the run began, by time.time(), the same for all ranks.
    A process that the rank forks does not record; neither does a rank whose log finds no more room.
    """

    def __init__(self, log: str, zero: float) -> None:
        self.began = perf_counter() - (time.time() - zero)
        self.count = 0
        forked = weakref.WeakMethod(self.forked)
        os.register_at_fork(after_in_child=lambda: (method := forked()) and method())
        self.log = Log(log)
        self.full = False
        self.writing = threading.Lock()
        self.inside = threading.local()  # of a call: each thread has its own, as autograd's on a GPU
        self.calls: dict[tuple, int] = {}
        self.groups: dict[tuple, int] = {}
        self.cells: dict[str, bool] = {}

    def close(self) -> None:
        """Close the log."""
        with self.writing:
            self.full = True
            self.log.close()

    def forked(self) -> None:
        """Record nothing in this process, which the rank forked, perhaps while another of its threads wrote."""
        self.full, self.writing = True, threading.Lock()

    def group(self, members: Sequence[int | None]) -> int:
        """The number by which calls name these ranks."""
        members = tuple(members)
        number = self.groups.get(members)
        if number is None:
            with self.writing:
                number = self.groups[members] = len(self.groups)
                self.write(b'["group", %s]\n' % json.dumps(members).encode())
        return number

    def write(self, line: bytes) -> None:
        """Append to the log. The caller holds the lock."""
        if not self.full:
            try:
                self.log.append(line)
            except OSError:
                self.full = True

    def start(self, library: str, operation: str, what: Said) -> int:
        """Log that a call begins. Returns its number, or -1 beyond the limit, and in a process that the rank forked."""
        about, values, _ = what
        key = (operation, self.calling_line(), about)
        with self.writing:
            if self.count >= LIMIT or self.full:
                return -1
            known = self.calls.get(key)
            if known is None:
                known = self.calls[key] = len(self.calls)
                described = dict(zip(NAMES, (library, *key[:2], *about), strict=True))
                self.write(b'["call", %s]\n' % json.dumps(described).encode())
            written = b", " + numbers_text(values) if values else b""
            self.write(b'["start", %d, %.7f%s]\n' % (known, perf_counter() - self.began, written))
            self.count += 1
            return self.count - 1

    def end(self, number: int, more: dict[str, Any] | None = None) -> None:
        """Log that call `number` is complete. more: what an `Event` tells of its end."""
        if number >= 0:
            written = b", " + more_text(more) if more else b""
            with self.writing:
                self.write(b'["end", %d, %.7f%s]\n' % (number, perf_counter() - self.began, written))

    def waits(self, number: int) -> None:
        """Log that the rank now waits for call `number`, which returned earlier."""
        if number >= 0:
            with self.writing:
                self.write(b'["wait", %d, %.7f]\n' % (number, perf_counter() - self.began))

    def returned(self, number: int) -> None:
        """Log that call `number` returned while its operation goes on."""
        if number >= 0:
            with self.writing:
                self.write(b'["return", %d]\n' % number)

    def wrap(
        self, library: str, operation: str, function: Callable, about: Callable, later: Callable | None = None
    ) -> Callable:
        """A function that calls `function` and records the call, unless it is made inside of another one.

        about(args, kwargs) returns what is `Said`, and may change kwargs; if it raises, nothing is said. If the
        operation goes on after the call, later(result, number, said) returns a result whose completion is recorded;
        else None.
        """
        inside = self.inside

        def call(*args: Any, **kwargs: Any) -> Any:
            if getattr(inside, "call", False):
                return function(*args, **kwargs)
            inside.call = True
            try:
                try:
                    what = about(args, kwargs)
                except Exception:  # arguments that are wrong are the call's matter
                    what = SILENT
                number = self.start(library, operation, what)
                try:
                    result = function(*args, **kwargs)
                except BaseException:
                    self.end(number, {"failed": True})
                    raise
                watched = later(result, number, what) if later else None
                if watched is None:
                    self.end(number, told(what, result) if what[2] else None)
                    return result
            finally:
                inside.call = False
            self.returned(number)
            return watched

        return named(functools.update_wrapper(call, function), f"{PREFIX[library]}.{operation}")

    def calling_line(self) -> int | None:
        """The line of the notebook cell that the current call comes from; None if it comes from no cell."""
        frame, cells = sys._getframe(2), self.cells
        while frame is not None:
            name = frame.f_code.co_filename
            known = cells.get(name)
            if known is None:
                known = cells[name] = in_cell(name)
            if known:
                return frame.f_lineno
            frame = frame.f_back
        return None


NAMES = ("library", "op", "line", "peer", "source", "tag", "reduction", "group", "bytes", "dtype")
SILENT = said()


def known_of(about: Callable, args: tuple, kwargs: dict) -> Said:
    """What `about` says of a call's arguments. Arguments that are wrong are the call's matter."""
    try:
        return about(args, kwargs)
    except Exception:
        return SILENT


def numbers_text(values: list[float | None]) -> bytes:
    """A list of numbers as JSON, five times as fast as by the library."""
    if len(values) == 1 and values[0] is not None:
        return b"[%a]" % values[0]
    return f"[{', '.join(['null' if value is None else repr(value) for value in values])}]".encode()


def more_text(more: dict[str, Any]) -> bytes:
    """What an event tells of its end, as JSON."""
    if len(more) == 1 and (results := more.get("results")):  # of a reduction: the most frequent case
        return b'{"results": %s}' % numbers_text(results)
    return json.dumps(more).encode()


def told(what: Said, result: Any) -> dict | None:
    """What an event tells of its end, from the result of the call, or the status of its request."""
    if what.finished is None:
        return None
    try:
        return what.finished(result)
    except Exception:
        return None


def unwatched(function: Callable) -> Callable:
    """The function itself, for our own calls, if this is one that records them."""
    return getattr(function, "__wrapped__", function)


def named(function: Callable, name: str) -> Callable:
    """Rename `function` in tracebacks, so that a report of a hang says which operation a rank waits in."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function
