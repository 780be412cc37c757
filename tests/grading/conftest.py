"""A class that is to be graded."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from small_course import LAB, make_course


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """The small course, built. It is copied, and not changed."""
    room = Classroom(make_course(tmp_path_factory.mktemp("built") / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    return room


@pytest.fixture
def small(built: Classroom, tmp_path: Path) -> Classroom:
    """A class on the small lab, built and not graded."""
    return built.copied(tmp_path)
