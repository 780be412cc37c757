"""Steps of a real srun, and the variables that its tasks have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TELL = "import json, os; print(json.dumps(dict(os.environ)))"


def on_cluster(*command: str) -> list[str]:
    """Lines that a command prints, which asks Slurm for nodes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def tasks(*options: str) -> list[dict[str, str]]:
    """The environments of a step's tasks, by rank."""
    with tempfile.TemporaryDirectory() as folder:
        on_cluster(*options, f"--output={folder}/%t", sys.executable, "-c", TELL)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]


def same(real: list[dict[str, str]], ours: list[dict[str, str]]) -> None:
    """Asserts that a real step has the variables that ours has."""
    assert len(real) == len(ours)
    for there, here in zip(real, ours, strict=True):
        assert {name: there.get(name) for name in here} == here
