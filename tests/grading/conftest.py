"""A class that is to be graded."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from small_course import LAB, make_course


@pytest.fixture
def small(tmp_path: Path) -> Classroom:
    """A class on the small lab, built and not graded."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    return room
