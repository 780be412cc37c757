"""A course to build labs in."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_course import make_course


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one small lab."""
    return make_course(tmp_path)
