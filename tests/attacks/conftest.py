"""Each group of attackers is graded once, with their neighbours, when the first test asks for it.

Without `--all`, one attacker of the group is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from catalogue import GROUPS, LIMITS, chosen
from harness import Seen, graded


@pytest.fixture(scope="session")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What is to be seen of a group's class after its grading; "" is the class without attackers."""

    everyone = request.config.getoption("all", True)

    @cache
    def grade(group: str) -> Seen:
        attacks = [attack for attack in GROUPS.get(group, ()) if everyone or chosen(group, attack.name)]
        return graded(tmp_path_factory.mktemp(group or "peace") / "course", attacks, LIMITS.get(group, {}))

    return grade
