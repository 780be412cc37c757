"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograde.cells.subject import Subject
from course.world import COMM, World


def swapped(subject: Subject, comm: Any) -> list[float]:
    """Runs on each rank: what it gets from its partner, of ten numbers that each of them has."""
    return subject.load()(comm, np.full(10, float(comm.rank))).tolist()


def ten_numbers_come_from_each_partner(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(swapped, mistaken, COMM) == [[float(rank ^ 1)] * 10 for rank in range(4)]


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "both_send_first": ten_numbers_come_from_each_partner,
}
