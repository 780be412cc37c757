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
from typing import Any

PROGRAM = Path(__file__).resolve().parents[2] / "slurm" / "local" / "cluster"
UNDER_WAY = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}


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


def slurm(*command: str, **options: Any) -> str:
    """What one of Slurm's commands prints; it must succeed. options: of `subprocess.run`."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, **options)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def completed(*command: str, log: Path | None = None, **options: Any) -> str:
    """Submit a job, which must succeed, wait for its end, and return its number.

    `sbatch --wait` looks after 2 seconds, 8 and 32. command: options of `sbatch`, and the script. log: what the job
    writes. options: of `subprocess.run`.
    """
    number = slurm("sbatch", "--parsable", *command, **options).strip()

    def states() -> set[str]:
        return {*slurm("squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%T").split()}

    assert eventually(lambda: not states() & UNDER_WAY), f"job {number} does not come to its end"
    assert states() == {"COMPLETED"}, log.read_text()[-3000:] if log and log.exists() else number
    return number


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
