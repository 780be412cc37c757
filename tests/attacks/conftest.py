"""Each group of attackers is graded once, with their neighbours, when the first test asks for it.

With `--chosen`, one attacker of each group is, all in one class, with the memory of the group that has least.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from catalogue import GROUPS, LIMITS, chosen
from harness import Seen, graded


@pytest.fixture(scope="session")
def seen(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What is to be seen of a group's class after its grading; "" is the class without attackers."""
    few = pytestconfig.getoption("chosen")

    @cache
    def grade(groups: tuple[str, ...]) -> Seen:
        attacks = [each for group in groups for each in GROUPS[group] if not few or chosen(group, each.name)]
        limits = {name: limit for group in groups for name, limit in LIMITS.get(group, {}).items()}
        if len(groups) > 1:
            limits.pop("cpu")  # who loops for ever would come to it before the time of the TODO is up
        place = tmp_path_factory.mktemp((groups or ("peace",))[0])
        return graded(place / "course", attacks, limits)

    def of(group: str) -> Seen:
        if few and group:
            return grade((*GROUPS,))
        return grade((group,) if group else ())

    return of
