"""A real Slurm cluster of two nodes for tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "slurm" / "local" / "cluster"


@contextmanager
def running_cluster(*prefix: str) -> Iterator[Path]:
    """A folder that all users may enter, with a running cluster in its `slurm`. Both are gone at the end.

    prefix: command below which its daemons run.
    """
    folder = Path(tempfile.mkdtemp(prefix="ls"))  # short, for the paths of sockets
    folder.chmod(0o755)
    cluster = [sys.executable, PROGRAM]
    start = [*prefix, *cluster, "start", folder / "slurm"]
    started = subprocess.run(start, capture_output=True, text=True, timeout=240)
    try:
        assert started.returncode == 0, started.stderr
        yield folder
    finally:
        subprocess.run([*cluster, "clean", folder / "slurm"], check=True, timeout=240)
        shutil.rmtree(folder)


def slurm(*command: str) -> str:
    """What one of Slurm's commands prints; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def jobs(*options: str) -> list[str]:
    """Names of the jobs that wait or run."""
    return slurm("squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%j", *options).split()


def eventually(condition: Callable[[], object], seconds: float = 240) -> bool:
    """Whether it holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
