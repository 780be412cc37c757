"""The labs that tests are parametrized by: those of this repository, or of the course that LOCKSTEP_COURSE names."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from autograde.contract.labs import Lab, find_labs, load_ranks
from course.world import World

COURSE = Path(os.environ.get("LOCKSTEP_COURSE") or Path(__file__).parents[2]).resolve()
LABS = find_labs(COURSE)


class Worlds:
    """Worlds by number of ranks, started when first asked for, and stopped by `stack`."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack, self.started = stack, {}

    def of(self, lab: Lab) -> World:
        """A world of as many ranks as the lab asks for."""
        return self.of_size(load_ranks(lab.checks))

    def of_size(self, ranks: int) -> World:
        """A world of so many ranks."""
        if ranks not in self.started:
            self.started[ranks] = self.stack.enter_context(World(ranks, progress=False))
        return self.started[ranks]
