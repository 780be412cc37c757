"""What Slurm itself knows of a job: as squeue tells while it is recent, and then as sacct does.

sacct reads slurmdbd's database where the cluster has one, else the file of its job completion plug-in (`sacct -c`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from functools import lru_cache

PATIENCE = 60.0  # seconds for one of Slurm's commands
REMEMBERED = 300.0  # seconds for which Slurm's settings are believed; a grading asks once for each submission
# No field that a user words, such as the job's name: it could hold a separator.
RECENT = "UserName:64|,State:32|,NodeList:4096|,NumCPUs:12|,NumTasks:12|,StartTime:24|,EndTime:24|"
ENDED = "JobID,User,State,NodeList,NCPUS,NTasks,Start,End"


class Unavailable(Exception):
    """Slurm cannot be asked about a job, or does not tell. Says why, as the end of a sentence."""


@dataclass(frozen=True)
class Job:
    """A job, by Slurm's own account.

    user: name of the account. state: such as COMPLETED. nodes: their names. cpus: processors. tasks: ranks, None where
    that is not on record. began, ended: in seconds since 1970; ended is None while it runs.
    """

    user: str
    state: str
    nodes: tuple[str, ...]
    cpus: int
    tasks: int | None
    began: float
    ended: float | None


def there_is_slurm() -> bool:
    """Whether this machine is part of a cluster, or submits to one."""
    return shutil.which("sbatch") is not None


def look_up(number: str, cluster: str) -> Job | None:
    """The job of this number; None: Slurm knows none. cluster: where it is said to have run.

    Raises Unavailable.
    """
    settings = settings_of(os.environ.get("SLURM_CONF"), int(time.monotonic() / REMEMBERED))
    if isinstance(settings, str):
        raise Unavailable(settings)
    if cluster and cluster != settings.get("ClusterName"):
        raise Unavailable(f"it is of the cluster `{cluster[:40]}`, and Slurm here is `{settings.get('ClusterName')}`")
    job = recent(number) or ended(number, settings)
    if job is None and "jobs" in settings.get("PrivateData", "") and os.getuid() != 0:
        raise Unavailable("Slurm shows this account no jobs of others (PrivateData in slurm.conf)")
    return job


@lru_cache(maxsize=1)
def settings_of(conf: str | None, moment: int) -> dict[str, str] | str:
    """Slurm's settings, or why it does not tell them, which it may take a minute to say. moment: when it is asked."""
    if not there_is_slurm():
        return "there is no Slurm on this machine"
    if conf and not os.path.isfile(conf):
        return f"SLURM_CONF names {conf}, and there is no such file"
    try:
        return dict(re.findall(r"^(\w+) *= (.*?) *$", ask("scontrol", "show", "config"), re.M))
    except Unavailable as error:
        return str(error)


def recent(number: str) -> Job | None:
    """A job that the controller still remembers."""
    try:
        shown = ask("squeue", "--noheader", "--states=all", f"--jobs={number}", f"--Format={RECENT}")
    except Unavailable as error:
        if "Invalid job id" in str(error):
            return None
        raise
    lines = [[part.strip() for part in line.split("|")] for line in shown.splitlines()]
    return made(*lines[0][:7]) if lines and len(lines[0]) >= 7 and lines[0][5] != "N/A" else None


def ended(number: str, settings: dict[str, str]) -> Job | None:
    """A job on record. settings: of the cluster."""
    if "slurmdbd" in settings.get("AccountingStorageType", ""):
        options: list[str] = []
    elif settings.get("JobCompType", "jobcomp/none") != "jobcomp/none":
        options = ["--completion"]
    else:
        return None
    options += ["--noheader", "--parsable2", f"--jobs={number}", f"--format={ENDED}"]
    lines = [line.split("|") for line in ask("sacct", *options).splitlines()]
    # The others are its steps. Of a requeued job, the last counts.
    whole = [line for line in lines if line[0] == number]
    if not whole:
        return None
    steps = [int(line[5]) for line in lines if re.fullmatch(rf"{number}\.\d+", line[0]) and line[5].isdigit()]
    _, user, state, nodes, cpus, _, began, until = whole[-1]
    return made(user, state, nodes, cpus, str(max(steps)) if steps else "", began, until)


def made(user: str, state: str, nodes: str, cpus: str, tasks: str, began: str, until: str) -> Job:
    """A job from what Slurm's commands print. Raises Unavailable where that is not of their form."""
    try:
        names = tuple(ask("scontrol", "show", "hostnames", nodes).split()) if nodes not in ("", "None assigned") else ()
        return Job(
            user=user.partition("(")[0],
            state=state.partition(" ")[0],
            nodes=names,
            cpus=int(cpus),
            tasks=int(tasks) if tasks else None,
            began=float(began),
            ended=float(until) if until.isdigit() else None,
        )
    except ValueError as error:
        raise Unavailable(f"what Slurm tells of it cannot be read: {error}") from error


def ask(*command: str) -> str:
    """What one of Slurm's commands prints, times in seconds since 1970. Raises Unavailable."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "SLURM_TIME_FORMAT": "%s"}
        )
    except FileNotFoundError:
        raise Unavailable(f"there is no {command[0]} on this machine") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} did not answer within {PATIENCE:g} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise Unavailable(f"{command[0]} says: {said[:200]}")
    return done.stdout
