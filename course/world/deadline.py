"""Deadlines that are fair on a crowded machine: time in which other programs had the cores is given back."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable

from course.processes.surroundings.machine import cores

BOUND = 4.0  # at most so many times a deadline is given back


class Deadline:
    """A deadline for what may have to wait for a core.

    seconds: until then, on a machine that nobody else uses. lost: how many of them others have taken so far, such as
    `Loss.seconds`; it is asked only when the time is up.
    """

    def __init__(self, seconds: float, lost: Callable[[], float]) -> None:
        self._end = time.monotonic() + seconds
        self._most = BOUND * seconds
        self._lost = lost

    def left(self) -> float:
        """Seconds left, before any is given back; negative when it is late."""
        return self._end - time.monotonic()

    def passed(self) -> bool:
        """Whether it has passed."""
        late = -self.left()
        return late > 0 and (late > self._most or late > self._lost())

    def bring_forward(self, seconds: float) -> None:
        """Let it end in so many seconds, if it does not end before."""
        self._end = min(self._end, time.monotonic() + seconds)


class Loss:
    """Measures the time that processes lose to others, from when it is made. pids: gives their ids.

    Linux counts how long each thread ran, and how long it waited for a core. Threads that have ended are forgotten.
    """

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._began = time.monotonic()
        self._before = {task: times for pid in pids() for task, times in scheduled(pid)}

    def seconds(self) -> float:
        """What was lost so far; 0.0 where Linux does not count it."""
        ran = waited = 0.0
        for pid in self._pids():
            for task, times in scheduled(pid):
                before = self._before.get(task, (0.0, 0.0))
                ran, waited = ran + times[0] - before[0], waited + times[1] - before[1]
        return lost(time.monotonic() - self._began, ran, waited, cores())


def lost(elapsed: float, ran: float, waited: float, cpus: int) -> float:
    """Seconds that threads lost to others, where they ran for `ran` and waited for a core for `waited` seconds in all.

    On `cpus` cores of their own they would have waited, too, if more of them wanted to run at a time: that is no loss.
    """
    if elapsed <= 0:
        return 0.0
    at_a_time = max(1.0, min(cpus, (ran + waited) / elapsed))
    return max(0.0, min(waited, cpus * elapsed - ran)) / at_a_time


def scheduled(pid: int) -> list[tuple[tuple[int, str], tuple[float, float]]]:
    """For each thread of a process: how long it ran, and how long it waited for a core, in seconds. See proc(5)."""
    found = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                ran, waited, *_ = map(int, file.read().split())
                found.append(((pid, thread), (ran / 1e9, waited / 1e9)))
    return found
