"""What several TODOs of lab 08 share: ranks in a process group, or one without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.contract.rank_check import run_on_rank
from course.world import COMM


def in_group_or_alone(world: Any, case: dict, deadline: float, run: Callable, subject: Any) -> dict:
    """What becomes of a check's function on the first ranks, in a process group; where the case has `alone`, on one
    rank without."""
    init = None if case["alone"] else "torch"
    given = (run_on_rank, run, subject, case, "", COMM)
    return world.attempt(*given, init=init, deadline=deadline, size=case["size"]).plain()
