"""A real Slurm cluster of two nodes for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / "slurm" / "local" / "cluster"


@contextmanager
def running_cluster() -> Iterator[str]:
    """Start one, and clean it up at the end. Gives the path of its slurm.conf."""
    folder = tempfile.mkdtemp(prefix="ls")  # short, for the paths of sockets
    os.chmod(folder, 0o755)
    started = subprocess.run([sys.executable, PROGRAM, "start", f"{folder}/c"], capture_output=True, text=True)
    try:
        assert started.returncode == 0, started.stderr
        yield f"{folder}/c/slurm.conf"
    finally:
        subprocess.run([sys.executable, PROGRAM, "clean", f"{folder}/c"], check=True)
        shutil.rmtree(folder)


def slurm(*command: str) -> str:
    """What one of Slurm's commands prints; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def jobs(*options: str) -> list[str]:
    """Names of the jobs that wait or run."""
    return slurm("squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%j", *options).split()


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    """Whether it holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
