"""A device whose work goes on after a step has returned: runs beside the student's code."""

from __future__ import annotations

import platform
import time
import zlib

HAND_OVER = 0.002  # seconds that it takes to hand a step to the device


class SlowDevice:
    """A device that works on its own. `notes` has for each step and each wait: which it is, when it began, when it
    ended, in seconds of one clock.

    seconds: of a step. first: how many times longer the first one takes. on_its_own: whether `step` returns before the
    device is done.
    """

    def __init__(self, seconds: float, first: float, on_its_own: bool) -> None:
        self.seconds, self.first, self.on_its_own = seconds, first, on_its_own
        self.busy_until = 0.0
        self.notes: list[list] = []

    def step(self) -> None:
        """Hand over a step."""
        began = time.monotonic()
        takes = self.seconds * (self.first if not self.steps else 1)
        self.busy_until = max(began, self.busy_until) + takes
        time.sleep(HAND_OVER if self.on_its_own else max(0.0, self.busy_until - time.monotonic()))
        self.notes.append(["step", began, time.monotonic()])

    def wait(self) -> None:
        """Wait for the device."""
        began = time.monotonic()
        time.sleep(max(0.0, self.busy_until - began))
        self.notes.append(["wait", began, time.monotonic()])

    @property
    def steps(self) -> int:
        """How many steps there were."""
        return sum(what == "step" for what, *_ in self.notes)


def machine() -> int:
    """A number for this machine: its ranks share a clock."""
    return zlib.crc32(platform.node().encode())
