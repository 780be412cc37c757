"""Detects a deadlock while ranks run, from their event logs."""

from __future__ import annotations

import time

from course.watch.events import DamagedLog, read_log
from course.watch.log import header


class StallDetector:
    """Notices that ranks make no progress: each is inside a communication call, and no log has changed for a while.

    stall: how long, in seconds.
    """

    def __init__(self, stall: float) -> None:
        self.stall = stall
        self.headers: list[bytes] | None = None
        self.last_change = time.monotonic()

    def stalled(self, logs: list[str]) -> bool:
        """Whether these logs have not changed for `stall` seconds, and all of their ranks wait. To be called often."""
        headers = [header(log) for log in logs]
        now = time.monotonic()
        if headers != self.headers:
            self.headers, self.last_change = headers, now
        return bool(logs) and now - self.last_change > self.stall and all(waits(log) for log in logs)


def waits(log: str) -> bool:
    """Whether a rank is inside a communication call, according to its log."""
    try:
        return any(event["state"] in ("called", "awaited") for event in read_log(log))
    except DamagedLog:
        return False
