"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograde.cells.subject import Subject
from course.world import COMM, World


def reduced(subject: Subject, comm: Any) -> list[float]:
    """Runs on each rank: its chunk of the sum of all ranks' arrays."""
    return subject.load()(comm, np.arange(30.0) * (comm.rank + 1)).tolist()


def every_rank_has_its_chunk(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(reduced, mistaken, COMM) == [each.tolist() for each in np.array_split(np.arange(30.0) * 10, 4)]


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "whole_arrays": every_rank_has_its_chunk,
}
