"""Lab 11 outside of its notebook: torchrun starts killed ranks again, and `sbatch requeue.sh` queues itself again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import cloudpickle
import psutil
import pytest
import torch

from autograde.labs.folder import find_labs
from autograde.making.build import build
from course.batch.launched import by_torchrun
from course.batch.requeued import own_job

ROOT = Path(__file__).resolve().parents[2]
LAB = next(lab for lab in find_labs(ROOT) if lab.name.startswith("11"))
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # torchrun's ranks cannot import the tests
EPOCHS = 14  # of 12 steps, with 0.3 s for each: more than comes before the signal, however fast the start is
PATIENCE = 270  # seconds for two or three attempts of a job, and what Slurm waits between them


def restarted(folder: str) -> int:
    """Runs on a rank of torchrun: the last one kills itself in the first attempt; gives the attempt's number."""
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    Path(folder, f"{attempt}-{os.environ['RANK']}").touch()
    torch.distributed.all_reduce(torch.zeros(1))
    if attempt == 0 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    torch.distributed.all_reduce(torch.zeros(1))
    return attempt


@pytest.mark.thorough
def test_torchrun_starts_all_ranks_again_after_one_was_killed(tmp_path):
    launch = by_torchrun(restarted, str(tmp_path), ranks=2, restarts=1)
    assert (launch.results, launch.error) == ([1, 1], "")
    assert {path.name for path in tmp_path.iterdir()} == {"0-0", "0-1", "1-0", "1-1"}


def test_in_an_array_a_job_names_its_own_element():
    assert own_job({"SLURM_JOB_ID": "12"}) == "12"
    assert own_job({"SLURM_JOB_ID": "13", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3"}) == "12_3"


def sent(folder: Path, epochs: int, *options: str) -> str:
    """Hand the lab's job in from `folder`. Gives its number."""
    files = build(LAB).instructor
    for name in (LAB.notebook, "requeue.sh"):
        (folder / name).write_bytes(files[name].content)
    environment = {**os.environ, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_PYTHON": sys.executable, "EPOCHS": str(epochs)}
    command = ["sbatch", "--parsable", "--ntasks=2", *options, "requeue.sh"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def log_of(folder: Path, job: str, until: str) -> list[str]:
    """The lines of a job's log, once a text is in it or PATIENCE is at an end; then the job is cancelled."""
    log, end = folder / f"11_failover.requeue.{job}", time.monotonic() + PATIENCE
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
