"""Checks whose cases each run on the first ranks of the world, with Horovod; and what a deadlock there says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.check import Check, Finding, trouble
from autograde.findings import Findings
from course.world import COMM

finding = Findings("""
collective-on-some-ranks 9
{detail} A collective call needs every rank. Which line do some ranks leave out?

calls-do-not-match 9
{detail} Each waits for the others. Horovod matches the ranks' calls by a name, which may come from an object's type.
""")


def stuck(evidence: dict, points: float) -> list[Finding]:
    """`trouble`, in which a deadlock has a finding of its own."""
    if evidence["state"] != "hang":
        return trouble(evidence, points)
    calls = {rank["call"] for rank in evidence["ranks"]}
    key = "calls-do-not-match" if len(calls) == 1 else "collective-on-some-ranks"
    return [finding(key, evidence["report"], detail=f"A deadlock: {evidence['detail']}")]


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
