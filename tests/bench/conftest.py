"""Benches are scripts in a folder that is no package, and import one another as Python does for a script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from run_bench import run_bench

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.append(str(BENCH))


@pytest.fixture
def bench() -> Callable[..., str]:
    """Runs a bench with options; gives what it prints."""
    return lambda name, *options: run_bench(BENCH / name, *options)
