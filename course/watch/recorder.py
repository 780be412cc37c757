"""Notes what one rank communicates while it runs, in a `course.watch.log`.

During a run, a `Recorder` sits between the student's code and the three libraries.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from course.watch.events import NOTE, PREFIX, Description, in_cell
from course.watch.log import CLOSED, COUNT, LIMIT, NONE, TEXT, Log, packed
from course.watch.payload import NOTHING, Payload


class Inside(threading.local):
    """Whether this thread is inside of a call that is recorded; autograd has threads of its own on a GPU."""

    call = False


# What a call's arguments say: all of a `course.watch.events.Description` from `peer` on, `prepared` and `name` where it
# has one;
# values, see `course.watch.events.Call`; and a function that gives from the call's
# result, or the status of its request, what is `Told`. A bare tuple, as one is made for each call.
Said = tuple[tuple, list[float | None] | None, Callable[[Any], "Told"] | None]
# What an `Event` tells of its end; a bare list is its results.
Told = dict[str, Any] | list[float | None] | None


def said(
    peer: int | None = None,
    source: int | None = None,
    tag: int | None = None,
    reduction: str | None = None,
    group: int | None = None,
    payload: Payload = NOTHING,
    finished: Callable[[Any], Told] | None = None,
    asked: tuple[int | None, int | None] = (None, None),
    room: int | None = None,
    name: str | None = None,
) -> Said:
    """What a call's arguments say, see `Said`. asked: source and tag that a receive asks for."""
    about = (peer, source, tag, *asked, reduction, group, payload.bytes, room, payload.dtype)
    about += () if name is None else (None, name)
    return about, payload.values, finished


class Recorder:
    """Logs the communication calls of one rank.

    log: path of the file, which is overwritten. zero: when the run began, by time.time(), the same for all ranks.
    A process that the rank forks does not record; neither does a rank whose log finds no more room.
    """

    def __init__(self, log: str, zero: float) -> None:
        self.began = perf_counter() - (time.time() - zero)
        self.numbers = itertools.count()
        forked = weakref.WeakMethod(self.forked)
        os.register_at_fork(after_in_child=lambda: (method := forked()) and method())
        self.log = Log(log)
        self.full = False
        self.naming = threading.Lock()
        self.inside = Inside()
        self.calls: dict[tuple, int] = {}
        self.groups: dict[tuple, int] = {}
        self.cells: dict[str, bool] = {}
        self.polls: dict[int, tuple[int, int]] = {}  # number of the entry and how often, by what calls are

    def close(self) -> None:
        """Close the log."""
        self.full = True
        self.log.close()

    def forked(self) -> None:
        """Record nothing in this process, which the rank forked, perhaps while another of its threads wrote."""
        self.full, self.naming, self.log.saying = True, threading.Lock(), threading.Lock()

    def group(self, members: Sequence[int | None], context: int = 0) -> int:
        """The number by which calls name these ranks. context: as of an `Event`."""
        key = tuple(members), context
        number = self.groups.get(key)
        return self.name(self.groups, key, "group", *key) if number is None else number

    def name(self, known: dict[tuple, int], key: tuple, what: str, *said: Any) -> int:
        """The number by which `known` has `key`, of which the log says `said` if it is new."""
        with self.naming:
            if key not in known:
                self.say([what, *said])
                known[key] = len(known)
            return known[key]

    def say(self, line: list) -> None:
        """Write a line to the log. Without room for it, nothing is recorded from then on."""
        if not self.full:
            try:
                self.log.say(json.dumps(line).encode())
            except OSError:
                self.full = True
                self.overflow()
            except CLOSED:
                self.full = True

    def overflow(self) -> None:
        """Log that there is a call which is not recorded."""
        with suppress(*CLOSED):
            self.log.overflow()

    def unseen(self) -> None:
        """Log that a cell communicates by a way that is not recorded, unless this is inside of a call that is."""
        if not self.full and not self.inside.call and self.calling_line() is not None:
            with suppress(*CLOSED):
                self.log.unseen()

    def start(self, library: str, operation: str, what: Said) -> int:
        """Log that a call begins. Returns its number, or -1 where it is not recorded: beyond the limit, without room,
        in a process that the rank forked, and after the run."""
        values, line = what[1], self.calling_line()
        known = self.calls.get((operation, line, what[0]))
        if known is None:
            known = self.known(library, operation, line, what)
        number = next(self.numbers)
        if self.full:
            return -1
        if number >= LIMIT:
            self.overflow()
            return -1
        kind, value = packed(values) if values else (NONE, 0.0)
        if kind == TEXT:
            self.say(["values", number, values])
        try:
            self.log.begin(number, known, kind, value, perf_counter() - self.began)
        except CLOSED:  # it was closed meanwhile
            return -1
        return number

    def known(self, library: str, operation: str, line: int | None, what: Said) -> int:
        """The number by which the log knows what calls like this one are."""
        key = (operation, line, what[0])
        known = self.calls.get(key)
        if known is None:
            about = dict.fromkeys(NAMES) | dict(zip(NAMES, (library, operation, line, *what[0]), strict=False))
            known = self.name(self.calls, key, "call", about)
        return known

    def note(self, name: str) -> None:
        """Log a moment by its name."""
        known = self.known(NOTE, name, None, SILENT)
        number = next(self.numbers)
        if self.full or number >= LIMIT:
            return
        now = perf_counter() - self.began
        with suppress(*CLOSED):
            self.log.begin(number, known, NONE, 0.0, now)
            self.log.end(number, NONE, 0.0, now)

    def polled(self, library: str, operation: str, what: Said) -> None:
        """Log that a call found nothing: how often, in one entry for all calls that are alike."""
        known = self.known(library, operation, self.calling_line(), what)
        number, times = self.polls.get(known, (-1, 0))
        with suppress(*CLOSED):
            if number < 0:
                number = next(self.numbers)
                if number >= LIMIT or self.full:
                    return
                self.log.begin(number, known, NONE, 0.0, perf_counter() - self.began)
            self.polls[known] = number, times + 1
            if not self.full:
                self.log.end(number, COUNT, float(times + 1), perf_counter() - self.began)

    def end(self, number: int, more: Told = None) -> None:
        """Log that call `number` is complete. more: what an `Event` tells of its end."""
        if number < 0 or self.full:
            return
        kind, result = NONE, 0.0
        if more:
            kind, result = packed(more) if type(more) is list else (TEXT, 0.0)
            if kind == TEXT:
                self.say(["more", number, {"results": more} if type(more) is list else more])
        try:
            self.log.end(number, kind, result, perf_counter() - self.began)
        except CLOSED:  # it was closed meanwhile
            return

    def waits(self, number: int) -> None:
        """Log that the rank now waits for call `number`, which returned earlier."""
        if number >= 0 and not self.full:
            with suppress(*CLOSED):
                self.log.wait(number, perf_counter() - self.began)

    def returned(self, number: int) -> None:
        """Log that call `number` returned while its operation goes on."""
        if number >= 0 and not self.full:
            with suppress(*CLOSED):
                self.log.leave(number, perf_counter() - self.began)

    def wrap(
        self, library: str, operation: str, function: Callable, about: Callable, later: Callable | None = None
    ) -> Callable:
        """A function that calls `function` and records the call, unless it is made inside of another one.

        about(args, kwargs) returns what is `Said`, and may change kwargs; if it raises, nothing is said. If the
        operation goes on after the call, later(result, number, said) returns a result whose completion is recorded;
        else None. It is not asked where the call returns None.
        """
        inside, start, end = self.inside, self.start, self.end

        def call(*args: Any, **kwargs: Any) -> Any:
            if inside.call:
                return function(*args, **kwargs)
            inside.call = True
            try:
                try:
                    what = about(args, kwargs)
                except Exception:  # arguments that are wrong are the call's matter
                    what = SILENT
                number = start(library, operation, what)
                try:
                    result = function(*args, **kwargs)
                except BaseException:
                    end(number, {"failed": True})
                    raise
                watched = later(result, number, what) if later and result is not None else None
                if watched is None:
                    end(number, told(what, result) if what[2] and number >= 0 else None)
                    return result
            finally:
                inside.call = False
            self.returned(number)
            return watched

        return named(functools.update_wrapper(call, function), f"{PREFIX[library]}.{operation}")

    def line_of_caller(self) -> int | None:
        """The line of the notebook cell that calls the function which asks this."""
        return self.calling_line()

    def calling_line(self) -> int | None:
        """The line of the notebook cell that the current call comes from; None if it comes from no cell."""
        frame, cells = sys._getframe(3), self.cells  # past `start` and who calls it for a library's call
        while frame is not None:
            name = frame.f_code.co_filename
            known = cells.get(name)
            if known is None:
                known = cells[name] = in_cell(name)
                if known:
                    self.say(["cell", name])
            if known:
                return frame.f_lineno
            frame = frame.f_back
        return None


NAMES = (*Description.__annotations__,)
SILENT = said()


def known_of(about: Callable, args: tuple, kwargs: dict) -> Said:
    """What `about` says of a call's arguments. Arguments that are wrong are the call's matter."""
    try:
        return about(args, kwargs)
    except Exception:
        return SILENT


def told(what: Said, result: Any) -> Told:
    """What an event tells of its end, from the result of the call, or the status of its request."""
    finished = what[2]
    if finished is None:
        return None
    try:
        return finished(result)
    except Exception:
        return None


def unwatched(function: Callable) -> Callable:
    """The function itself, or the class, for our own calls, if this is one that records them."""
    return getattr(function, "plain" if isinstance(function, type) else "__wrapped__", function)


def named(function: Callable, name: str) -> Callable:
    """Rename `function` in tracebacks, so that a report of a hang says which operation a rank waits in."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function
