"""Checks whose cases each run on the first ranks of the world, with Horovod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.check import Check
from course.world import COMM


class OnRanks(Check):
    """A check whose cases run on the first ranks, with Horovod, as many as the case says.

    run: what is sent to them, called with subject, case and communicator.
    """

    def __init__(self, run: Callable) -> None:
        self.run = run

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """What the student's code does on the ranks."""
        how = {"size": case["size"], "init": "horovod", "deadline": 20}
        return world.attempt(self.run, subject, case, COMM, **how).plain()
