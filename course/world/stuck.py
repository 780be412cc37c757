"""Detects a deadlock while ranks run, from their event logs."""

from __future__ import annotations

import time

from course.watch.events import DamagedLog, log_size, read_log


class StallDetector:
    """Notices that ranks make no progress: each is inside a communication call, and no log has grown for a while.

    stall: how long, in seconds.
    """

    def __init__(self, stall: float) -> None:
        self.stall = stall
        self.sizes: list[int] | None = None
        self.last_change = time.monotonic()

    def stalled(self, logs: list[str]) -> bool:
        """Whether these logs have not changed for `stall` seconds, and all of their ranks wait. To be called often."""
        sizes = [log_size(log) for log in logs]
        now = time.monotonic()
        if sizes != self.sizes:
            self.sizes, self.last_change = sizes, now
        return bool(logs) and now - self.last_change > self.stall and all(waits(log) for log in logs)


def waits(log: str) -> bool:
    """Whether a rank is inside a communication call, according to its log."""
    try:
        return any(event["state"] in ("called", "awaited") for event in read_log(log))
    except DamagedLog:
        return False
