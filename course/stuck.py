"""Whether ranks that have not come back yet will ever do: what their logs tell while they run."""

from __future__ import annotations

import os
import time

from course.watch import DamagedLog, read_log


class Stuck:
    """Notices that ranks make no progress: each log ends with a call that began and did not end, and none grows.

    stall: for how many seconds.
    """

    def __init__(self, stall: float) -> None:
        self.stall = stall
        self.sizes: list[int] | None = None
        self.seen = time.monotonic()

    def since(self, logs: list[str]) -> bool:
        """Whether nothing moved for `stall` seconds in these logs, and all of them wait."""
        sizes = [os.path.getsize(log) if os.path.exists(log) else -1 for log in logs]
        now = time.monotonic()
        if sizes != self.sizes:
            self.sizes, self.seen = sizes, now
        return bool(logs) and now - self.seen > self.stall and all(waits(log) for log in logs)


def waits(log: str) -> bool:
    """Whether a rank stands in a communication call, by its log."""
    try:
        return any(event["state"] in ("called", "awaited") for event in read_log(log))
    except DamagedLog:
        return False
