"""Detects a deadlock while ranks run, from their event logs."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from course.watch.differences import waiting_for_ever
from course.watch.events import DamagedLog, read_log
from course.watch.log import has_unseen, header, is_full


class StallDetector:
    """Notices that ranks make no progress: each is inside a communication call, and no log has changed for a while; or
    some of them wait for each other, or for ranks that have returned, so that those that still compute cannot help.

    logs: paths of the ranks' logs. stall: how long, in seconds.
    """

    def __init__(self, logs: Sequence[str], stall: float) -> None:
        self.logs, self.stall = logs, stall
        self.headers: list[bytes] = [b""] * len(logs)
        self.changed = [time.monotonic()] * len(logs)
        self.pending: set[int] = set()
        self.parted = time.monotonic()  # when a rank came to its end last
        self.looked: tuple[list[bytes], list[int]] | None = None  # what was there at the last look, which is dear
        self.look_at = 0.0

    def stalled(self, pending: Collection[int], returned: Collection[int]) -> bool:
        """Whether the ranks that are still `pending` have stalled. returned: those that came to their end without an
        error. To be called often."""
        now = time.monotonic()
        if self.pending != {*pending}:  # who waited for that rank may be about to go on
            self.pending, self.parted = {*pending}, now
        for rank in pending:
            if (new := header(self.logs[rank])) != self.headers[rank]:
                self.headers[rank], self.changed[rank] = new, now
        quiet = [rank for rank in pending if now - self.changed[rank] > self.stall]
        if not quiet:
            return False
        alone = len(quiet) == len(pending) and now - self.parted > self.stall
        if alone and all(waits(self.logs[rank]) for rank in quiet):
            return True
        seen = [*self.headers], quiet
        if now < self.look_at or self.looked == seen:
            return False
        self.look_at, self.looked = now + self.stall, seen
        return any(rank in quiet for rank in self.stuck(returned))

    def stuck(self, returned: Collection[int]) -> Collection[int]:
        """The ranks that wait for ever, as far as it can be known by now."""
        if any(has_unseen(log) or is_full(log) for log in self.logs):
            return ()
        try:
            events = [read_log(log) for log in self.logs]
        except DamagedLog:
            return ()
        return waiting_for_ever(events, [rank in returned for rank in range(len(events))])


def waits(log: str) -> bool:
    """Whether a rank is inside a communication call, according to its log."""
    try:
        return any(event["state"] in ("called", "awaited") for event in read_log(log))
    except DamagedLog:
        return False
