"""The labs that tests are parametrized by: those of this repository, or of the course that LOCKSTEP_COURSE names.

LABS: what every lab must have, one that `lockstep new` made this minute, too. OURS: those that README.md's table has,
since their `lab.toml` says what one does in them; they have a picture, questions, a table for instructors, links to the
glossary and a place in the guide besides.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from autograde.labs.description import read_description
from autograde.labs.folder import Lab, find_labs, load_ranks
from autograde.labs.places import REPOSITORY
from autograde.making.tables import labs_of_the_kit
from course.world import World


def in_the_readme(lab: Lab) -> bool:
    """Whether README.md's table has the lab."""
    described = read_description(lab.folder)
    return bool(described and described.does)


COURSE = Path(os.environ.get("LOCKSTEP_COURSE") or Path(__file__).parents[2]).resolve()
LABS = find_labs(COURSE)
OUR_NAMES = [lab.name for lab in labs_of_the_kit(REPOSITORY) if in_the_readme(lab)]
OURS = [lab for lab in LABS if lab.name in OUR_NAMES]


class Worlds:
    """Worlds by number of ranks, started when first asked for, and stopped by `stack`."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack, self.started = stack, {}

    def of(self, lab: Lab) -> World:
        """A world of at least as many ranks as the lab asks for; one of four serves most."""
        return self.of_size(max(4, load_ranks(lab.checks)))

    def of_size(self, ranks: int) -> World:
        """A world of so many ranks."""
        if ranks not in self.started:
            self.started[ranks] = self.stack.enter_context(World(ranks, progress=False))
        return self.started[ranks]
