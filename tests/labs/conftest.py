"""A course to build labs in, and worlds to try labs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from labs_under_test import Worlds
from small_course import make_course


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one small lab."""
    return make_course(tmp_path)


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    """The worlds that the labs of a module's tests ask for."""
    with ExitStack() as stack:
        yield Worlds(stack)
