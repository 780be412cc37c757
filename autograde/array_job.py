"""Slurm's job arrays, by its own commands: sbatch(1), squeue(1), scancel(1)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SITE = REPOSITORY / "slurm" / "site.sh"
SCRIPT = REPOSITORY / "slurm" / "grade.sh"
# site.sh may set SBATCH_PARTITION and the like.
SUBMIT = 'if [ -f "$0" ]; then . "$0" >&2 || exit; fi; exec sbatch "$@"'
PATIENCE = 60.0  # seconds for one of Slurm's commands; they try again by themselves while the controller is busy
# States of a task that will not run again, see JOB STATE CODES in squeue(1). A requeued one is PENDING.
OVER = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)


class SlurmFailed(Exception):
    """One of Slurm's commands did not work. One line, with what it said and the next step."""


@dataclass(frozen=True)
class State:
    """What Slurm says of one task. name: as PENDING. reason: why it waits or has ended, or "None"."""

    name: str
    reason: str
    node: str

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.name in OVER

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason not in ("None", "") else ""
        return f"{self.name}{why}{f' on {self.node}' if self.node else ''}"


UNKNOWN = State("COMPLETED", "Slurm has forgotten it", "")

Task = tuple[str, int]  # the array's job number, and the task's index


def refusal() -> str | None:
    """Why nothing can be submitted here, if so, as far as can be told without asking Slurm."""
    if shutil.which("sbatch") is None:
        return "there is no sbatch on PATH: log in to a node of the cluster, or grade here, without --slurm"
    conf = os.environ.get("SLURM_CONF")
    if conf and not Path(conf).is_file():  # sbatch would look for it for a minute
        return f"SLURM_CONF names {conf}, and there is no such file: correct or unset it, or grade without --slurm"
    return None


def submit(tasks: int, folder: Path, arguments: Iterable[str]) -> str:
    """Submit an array of so many tasks that run `slurm/grade.sh` in `folder` with these arguments. Returns its number.

    Raises SlurmFailed.
    """
    if why := refusal():
        raise SlurmFailed(why)
    options = [f"--array=0-{tasks - 1}", f"--chdir={folder}", f"--output={folder}/%A_%a.log"]
    command = ["bash", "-c", SUBMIT, str(SITE), "--parsable", "--requeue", *options, str(SCRIPT), *arguments]
    done = called(command)
    number = done.stdout.strip().splitlines()[-1:] or [""]
    if done.returncode or not re.fullmatch(r"\d+(;.*)?", number[0]):
        raise SlurmFailed(f"{said(done.stderr) or f'sbatch ended with {done.returncode}'}. {next_step(done.stderr)}")
    return number[0].partition(";")[0]


def states(jobs: Iterable[str]) -> dict[Task, State]:
    """What Slurm says of all tasks of these arrays; nothing of those that it has forgotten. Raises SlurmFailed."""
    asked = f"--jobs={','.join(jobs)}"
    done = called(["squeue", asked, "--states=all", "--array", "--noheader", "--format=%F|%K|%T|%r|%N"])
    if done.returncode and "Invalid job id" not in done.stderr:
        raise SlurmFailed(said(done.stderr) or f"squeue ended with {done.returncode}")
    found = {}
    for line in done.stdout.splitlines():
        job, index, name, reason, node = line.strip().split("|", 4)
        if index.isdigit():
            found[job, int(index)] = State(name, reason, node)
    return found


def working_in(folder: Path) -> list[str]:
    """Numbers of my arrays that work in `folder`, waiting or running. Raises SlurmFailed."""
    done = called(["squeue", "--me", "--noheader", "--format=%F|%T|%Z"])
    if done.returncode:
        raise SlurmFailed(f"{said(done.stderr) or f'squeue ended with {done.returncode}'}. {next_step(done.stderr)}")
    jobs = [line.strip().split("|", 2) for line in done.stdout.splitlines()]
    return sorted({job for job, state, place in jobs if place == str(folder) and state != "COMPLETING"}, key=int)


def cancel(jobs: Iterable[str]) -> None:
    """End these arrays. Raises SlurmFailed, with the command that does the same."""
    command = ["scancel", "--quiet", *jobs]
    if called(command).returncode:
        raise SlurmFailed(f"the array could not be cancelled; do it by hand: {' '.join(command)}")


def called(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run one of Slurm's commands. Raises SlurmFailed if it is not there or does not end.

    It has a session of its own: Ctrl-C at the terminal must not end an sbatch half-way.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, start_new_session=True
        )
    except FileNotFoundError:
        raise SlurmFailed(f"there is no {command[0]} on PATH") from None
    except subprocess.TimeoutExpired:
        raise SlurmFailed(
            f"{command[0]} did not answer in {PATIENCE:g} s: is slurmctld up? `scontrol ping` tells"
        ) from None


def said(stderr: str) -> str:
    """The line that tells most: what was fatal, else the first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return next((line for line in lines if "fatal:" in line), lines[0] if lines else "")[:300]


def next_step(stderr: str) -> str:
    """What to do about an error of sbatch's."""
    if "partition" in stderr:
        name = os.environ.get("SBATCH_PARTITION")
        return (
            f"Set another in {SITE} or by SBATCH_PARTITION{f', which is {name}' if name else ''}; `sinfo -s` lists them"
        )
    if "Unable to contact" in stderr:
        return "Slurm's controller does not answer: `scontrol ping` tells its state"
    if "fatal:" in stderr or "stablish" in stderr:
        return (
            "This machine has no slurm.conf: log in to a node of the cluster, set SLURM_CONF, or grade without --slurm"
        )
    return f"What a site asks for (account, partition, time) is set in {SITE}"
