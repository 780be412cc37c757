"""Runs a bench, which is a script, as a person does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_bench(script: Path, *options: str) -> str:
    """What it prints. Fails with its error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, script, *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
