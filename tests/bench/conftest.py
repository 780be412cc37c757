"""Benches are scripts in a folder that is no package, and import one another as Python does for a script."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))


@pytest.fixture
def bench() -> Callable[..., str]:
    """Runs a bench with options; gives what it prints."""

    def run(name: str, *options: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, ROOT / "bench" / name, *options]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
