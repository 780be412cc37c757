"""The labs that tests are parametrized by: those of this repository, or of the course that LOCKSTEP_COURSE names.

LABS: what every lab must have, one that `lockstep new` made this minute, too. OURS: those of README.md's table, which
have a picture, questions, a table for instructors, links to the glossary and a place in the guide besides.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from pathlib import Path

from autograde.labs.folder import Lab, find_labs, load_ranks
from course.world import World

COURSE = Path(os.environ.get("LOCKSTEP_COURSE") or Path(__file__).parents[2]).resolve()
LABS = find_labs(COURSE)
OUR_NAMES = re.findall(r"^\| `(\d\d_\w+)` \| ", (Path(__file__).parents[2] / "README.md").read_text(), re.MULTILINE)
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
