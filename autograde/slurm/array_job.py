"""Submits, watches and cancels Slurm's job arrays, with sbatch(1), squeue(1) and scancel(1)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograde.labs.places import REPOSITORY
from course.processes.slurm_command import SlurmError, called, complaint, output

SITE = REPOSITORY / "slurm" / "site.sh"
SCRIPT = REPOSITORY / "slurm" / "grade.sh"
# site.sh may set SBATCH_PARTITION and the like.
SUBMIT = 'if [ -f "$0" ]; then . "$0" >&2 || exit; fi; exec sbatch "$@"'
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


@dataclass(frozen=True)
class State:
    """The state of one task. name: such as PENDING. reason: why it waits or has ended, or "None"."""

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
    """Why nothing can be submitted here, if that shows without asking Slurm; else None."""
    if shutil.which("sbatch") is None:
        return "there is no sbatch on PATH: log in to a node of the cluster, or grade here, without --slurm"
    conf = os.environ.get("SLURM_CONF")
    if conf and not Path(conf).is_file():  # sbatch would look for it for a minute
        return f"SLURM_CONF names {conf}, and there is no such file: correct or unset it, or grade without --slurm"
    return None


def submit(tasks: int, folder: Path, arguments: Iterable[str]) -> str:
    """Submit an array of tasks that run `slurm/grade.sh` in `folder` with these arguments. Returns its job number.

    Raises SlurmError.
    """
    if why := refusal():
        raise SlurmError(why)
    options = [f"--array=0-{tasks - 1}", f"--chdir={folder}", f"--output={folder}/%A_%a.log"]
    done = called("bash", "-c", SUBMIT, str(SITE), "--parsable", "--requeue", *options, str(SCRIPT), *arguments)
    number = done.stdout.strip().splitlines()[-1:] or [""]
    if done.returncode or not re.fullmatch(r"\d+(;.*)?", number[0]):
        raise SlurmError(f"{complaint(done.stderr, 'sbatch')}. {next_step(done.stderr)}")
    return number[0].partition(";")[0]


def states(jobs: Iterable[str]) -> dict[Task, State]:
    """The states of the tasks of these arrays, except those that Slurm has forgotten. Raises SlurmError."""
    option = f"--jobs={','.join(jobs)}"
    done = called("squeue", option, "--states=all", "--array", "--noheader", "--format=%F|%K|%T|%r|%N")
    if done.returncode and "Invalid job id" not in done.stderr:
        raise SlurmError(complaint(done.stderr, "squeue"))
    found = {}
    for line in done.stdout.splitlines():
        job, index, name, reason, node = line.strip().split("|", 4)
        if index.isdigit():
            found[job, int(index)] = State(name, reason, node)
    return found


def working_in(folder: Path) -> list[str]:
    """Job numbers of my arrays that wait or run with `folder` as their folder. Raises SlurmError."""
    shown = output("squeue", "--me", "--noheader", "--format=%F|%T|%Z")
    jobs = [line.strip().split("|", 2) for line in shown.splitlines()]
    return sorted({job for job, state, place in jobs if place == str(folder) and state != "COMPLETING"}, key=int)


def cancel(jobs: Iterable[str]) -> None:
    """Cancel these arrays. Raises SlurmError, which gives the command to do it by hand."""
    command = ["scancel", "--quiet", *jobs]
    if called(*command).returncode:
        raise SlurmError(f"the array could not be cancelled; do it by hand: {' '.join(command)}")


def next_step(stderr: str) -> str:
    """What to do about an error of sbatch."""
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
