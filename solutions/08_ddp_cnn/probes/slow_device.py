"""A device whose work goes on after a step has returned."""

from __future__ import annotations

import time
from typing import Any

from course.watch.notes import note

from ..shared.timeline import OVER, STEP, WAIT

UNIT, SLOW, FIRST = 0.01, 2.5, 6.0  # seconds of a step; how many times slower one rank, and the first step, are
HAND_OVER = 0.002  # seconds that it takes to hand a step to the device


class SlowDevice:
    """A device that works on its own, and notes when each step and each wait begins and ends.

    seconds: of a step. on_its_own: whether `step` returns before the device is done.
    """

    def __init__(self, comm: Any, seconds: float, on_its_own: bool) -> None:
        self.comm, self.seconds, self.on_its_own = comm, seconds, on_its_own
        self.busy_until, self.takes = 0.0, seconds * FIRST

    def step(self) -> None:
        """Hand over a step; the first one takes longer."""
        note(self.comm, STEP)
        self.busy_until = max(time.monotonic(), self.busy_until) + self.takes
        self.takes = self.seconds
        time.sleep(HAND_OVER if self.on_its_own else max(0.0, self.busy_until - time.monotonic()))
        note(self.comm, STEP + OVER)

    def wait(self) -> None:
        """Wait for the device."""
        note(self.comm, WAIT)
        time.sleep(max(0.0, self.busy_until - time.monotonic()))
        note(self.comm, WAIT + OVER)
