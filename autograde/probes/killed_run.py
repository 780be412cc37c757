"""Runs in which a rank is killed, and others that go on from what it has left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank

MARKER = "killed"  # a file that says that a rank died where it was to


def dies(rank: CallRank, case: dict) -> bool:
    """Whether this rank is to die in this run; its place is `case["kill"][1]`, see `die_here`."""
    return case.get("dies", False) and rank.rank == case["kill"][0]


def die_here(folder: str) -> None:
    """End this process as `kill -9` does; a file in `folder`, the rank's, tells that it happened here."""
    Path(folder, MARKER).touch()
    os.kill(os.getpid(), signal.SIGKILL)


class KillingProbe(CallProbe):
    """A run; or in a case with `kill` one in which a rank is killed, and another one, which goes on in the same folder.

    A case's `kill` is [the rank that dies, its place, the ranks that go on], or None; in the first of two runs the case
    has `dies`. The outcome is that of the last run that there was. A run in which just that rank died at its place does
    not count.
    """

    def in_folder(self, world: Any, subject: Any, case: dict, folder: str) -> dict:
        """See `CallProbe`."""
        if case["kill"]:
            run = super().in_folder(world, subject, {**case, "dies": True}, folder)
            killed = run["ranks"][case["kill"][0]]["code"] == -signal.SIGKILL and Path(folder, MARKER).exists()
            if run["state"] != "rank-died" or not killed:
                return run
            case = {**case, "ranks": case["kill"][2]}
        return super().in_folder(world, subject, case, folder)
