"""Calls of `images_per_second`, with a device whose work goes on after a step has returned."""

from __future__ import annotations

import platform
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import calls_apart
from autograde.contract.evidence import Evidence, Number, judged_in_places, unjudged
from course.watch.notes import note

from ..shared.timeline import HELD_UP, RETURNED, Timeline, held_up
from .clocks import APART, own_clock
from .groups import GroupProbe
from .slow_device import SLOW, UNIT, SlowDevice

TRIES = 5  # how often ranks are asked that were held up beside their clock


@unjudged(machine="it tells which clocks can be compared")
@judged_in_places(value="two rates are as near as clocks are on a busy machine")
class Seen(Evidence):
    """What was returned. machine: a number for it; its ranks share a clock."""

    value: Number
    machine: int


def around(rank: CallRank, call: dict) -> AbstractContextManager:
    """Each rank has a clock of its own, as on another node."""
    return own_clock(rank.subject.filename, APART * rank.rank)


def call(images_per_second: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    device = SlowDevice(rank.comm, UNIT * (SLOW if rank.rank == call["slow"] else 1), call["on_its_own"])
    rank.meet()
    given = (device.step, device.wait, call["images"], rank.torch_device, call["warmup"], call["steps"])
    value = images_per_second(*given)
    note(rank.comm, RETURNED)
    return Seen(Number.of(value), zlib.crc32(platform.node().encode()))


class TimedProbe(GroupProbe):
    """The call; again where a rank was held up beside its clock, as on a busy machine."""

    def __call__(self, world: Any, subject: Any, case: dict) -> dict:
        """See `CallProbe`."""
        for _ in range(TRIES):
            outcome = super().__call__(world, subject, case)
            if outcome["state"] != "ok" or self.held_up(case, outcome["ranks"]) < HELD_UP:
                break
        return outcome

    @staticmethod
    def held_up(case: dict, ranks: list[dict]) -> float:
        """In seconds, see `shared.timeline`."""
        try:
            machines = [rank["result"]["calls"][0]["seen"]["machine"] for rank in ranks]
            return held_up([Timeline(calls_apart(rank["events"])[0], case["calls"][0]) for rank in ranks], machines)
        except (TypeError, LookupError):  # the student's code has changed the record; what is judged refuses it
            return 0.0


PROBE = TimedProbe(Seen, call, around=around, needs="torch", deadline=20)
