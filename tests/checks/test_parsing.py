"""Several threads can read source texts at once."""

from __future__ import annotations

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograde.cells.parsing import parse

SOURCE = "def f(a, b=1):\n    return [a + b for _ in range(10) if a]\n" * 300


class Yielding:
    """Lets other threads go on while it is collected, which may be in the middle of a parse."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(3):
            time.sleep(0)


@pytest.fixture
def hasty():
    """Threads change often, and so does what the collector sees."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.thorough
def test_threads_that_parse_at_once_get_their_trees(hasty):
    def length(_: int) -> int:
        for _ in range(5):
            Yielding()
        return len(parse(SOURCE).body)

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(length, range(150))}) == 1
