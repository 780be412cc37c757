"""A clock of this rank's own, as on another node: runs beside the student's code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

APART = 3600.0  # seconds between the clocks of two ranks that follow each other
CLOCKS = {
    "perf_counter": 1.0,
    "monotonic": 1.0,
    "time": 1.0,
    "perf_counter_ns": 1e9,
    "monotonic_ns": 1e9,
    "time_ns": 1e9,
}


@contextmanager
def own_clock(filename: str, seconds: float) -> Iterator[None]:
    """In this block, Python's clocks are ahead by so many seconds for code of this file, and for no other. What it
    imports from `time` here stays ahead."""

    def ahead(clock: Callable[[], Any], by: Any) -> Callable[[], Any]:
        def read() -> Any:
            return clock() + (by if sys._getframe(1).f_code.co_filename == filename else 0)

        return read

    with ExitStack() as stack:
        for name, unit in CLOCKS.items():
            clock = getattr(time, name)
            stack.enter_context(mock.patch.object(time, name, ahead(clock, type(clock())(seconds * unit))))
        yield
