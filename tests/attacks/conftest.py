"""Each group of attackers is graded once, with their neighbours, when the first test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from catalogue import GROUPS, LIMITS
from harness import Seen, graded


@pytest.fixture(scope="session")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What is to be seen of a group's class after its grading; "" is the class without attackers."""

    @cache
    def grade(group: str) -> Seen:
        return graded(
            tmp_path_factory.mktemp(group or "peace") / "course", GROUPS.get(group, ()), LIMITS.get(group, {})
        )

    return grade
