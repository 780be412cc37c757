"""The lab outside of its notebook: `sbatch requeue.sh` queues itself again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autograde.labs.folder import Lab
from autograde.labs.places import REPOSITORY
from autograde.making.build import build

FOLDER = Path(__file__).resolve().parents[1]
LAB = Lab(FOLDER.name, FOLDER)
EPOCHS = 14  # of 12 steps, with 0.3 s for each: more than comes before the signal, however fast the start is
PATIENCE = 270  # seconds for two or three attempts of a job, and what Slurm waits between them


def sent(folder: Path, epochs: int, *options: str) -> str:
    """Hand the lab's job in from `folder`. Gives its number."""
    files = build(LAB).instructor
    for name in (LAB.notebook, "requeue.sh"):
        (folder / name).write_bytes(files[name].content)
    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(REPOSITORY),
        "LOCKSTEP_PYTHON": sys.executable,
        "EPOCHS": str(epochs),
    }
    command = ["sbatch", "--parsable", "--ntasks=2", *options, "requeue.sh"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def log_of(folder: Path, job: str, until: str) -> list[str]:
    """The lines of a job's log, once a text is in it or PATIENCE is at an end; then the job is cancelled."""
    log, end = folder / f"{LAB.name}.requeue.{job}", time.monotonic() + PATIENCE
    while time.monotonic() < end and not (log.exists() and until in log.read_text()):
        time.sleep(1)
    subprocess.run(["scancel", job], check=False)
    return log.read_text().splitlines()


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return bool(int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_a_signal_that_comes_before_the_training_begins_ends_no_rank(on_slurm, tmp_path):
    job, end, ready = sent(tmp_path, 1000, "--time=5"), time.monotonic() + PATIENCE, []
    while time.monotonic() < end and len(ready) < 2:
        commands = {each.pid: (each.info["cmdline"] or [])[1:4] for each in psutil.process_iter(["cmdline"])}
        ranks = [pid for pid, command in commands.items() if command == ["-P", "-m", "course.batch.requeued"]]
        ready = [pid for pid in ranks if catches(pid, signal.SIGUSR2)]
        time.sleep(0.02)
    assert len(ready) == 2
    subprocess.run(["scancel", "--signal=USR2", job], check=True)
    lines = log_of(tmp_path, job, "queued again")
    assert "attempt 1: 0 steps, stopped by a signal" in lines
    assert f"queued again: job {job}" in lines


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_a_job_that_is_out_of_time_queues_itself_again_and_comes_to_its_end(on_slurm, tmp_path):
    job = sent(tmp_path, EPOCHS, "--time=1", "--signal=USR2@15")
    lines = log_of(tmp_path, job, ", done")
    attempts = [line for line in lines if line.startswith("attempt ")]
    assert attempts, lines
    assert attempts[0].endswith("stopped by a signal") and attempts[-1].endswith("done"), lines
    assert sum(line == f"queued again: job {job}" for line in lines) == len(attempts) - 1, "by one rank, each time"
    assert sum(int(line.split()[2]) for line in attempts) == EPOCHS * 12, "no step is made twice, and none is left out"
