"""Fixtures of all tests. A world takes seconds to start, so tests share one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from course.world import World


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """Four real MPI ranks."""
    with World(4, progress=False) as world:
        yield world
