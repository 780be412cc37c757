"""Asks Slurm about a job: squeue while the job is recent, then sacct.

sacct reads slurmdbd's database if the cluster has one, else the file of its job completion plug-in (`sacct -c`).
"""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass
from functools import lru_cache

from course.processes.slurm_command import SlurmError, output

REMEMBERED = 300.0  # seconds for which Slurm's settings are cached; a grading needs them for each submission
# No field that users choose, such as the job's name: it could contain a separator.
SQUEUE_FIELDS = "UserName:64|,State:32|,NodeList:4096|,NumCPUs:12|,NumTasks:12|,StartTime:24|,EndTime:24|"
SACCT_FIELDS = "JobID,User,State,NodeList,NCPUS,NTasks,Start,End"


@dataclass(frozen=True)
class Job:
    """A job, according to Slurm.

    user: name of the account. state: such as COMPLETED. nodes: their names. tasks: ranks; None if not on record. began,
    ended: seconds since 1970; ended is None while the job runs.
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
    """The job with this number; None if Slurm knows none. cluster: where the record says that it ran.

    Raises SlurmError if Slurm cannot be asked, or does not answer.
    """
    settings = settings_of(os.environ.get("SLURM_CONF"), int(time.monotonic() / REMEMBERED))
    if isinstance(settings, str):
        raise SlurmError(settings)
    if cluster and cluster != settings.get("ClusterName"):
        raise SlurmError(f"it is of the cluster `{cluster[:40]}`, and Slurm here is `{settings.get('ClusterName')}`")
    job = from_squeue(number) or from_sacct(number, settings)
    if job is None and "jobs" in settings.get("PrivateData", "") and os.getuid() != 0:
        raise SlurmError("Slurm shows this account no jobs of others (PrivateData in slurm.conf)")
    return job


@lru_cache(maxsize=1)
def settings_of(conf: str | None, moment: int) -> dict[str, str] | str:
    """Slurm's settings, or why they cannot be had, which may take a minute. moment: limits how long they are cached."""
    if not there_is_slurm():
        return "there is no Slurm on this machine"
    if conf and not os.path.isfile(conf):
        return f"SLURM_CONF names {conf}, and there is no such file"
    try:
        return dict(re.findall(r"^(\w+) *= (.*?) *$", ask("scontrol", "show", "config"), re.M))
    except SlurmError as error:
        return str(error)


def from_squeue(number: str) -> Job | None:
    """A job that the controller still remembers."""
    try:
        shown = ask("squeue", "--noheader", "--states=all", f"--jobs={number}", f"--Format={SQUEUE_FIELDS}")
    except SlurmError as error:
        if "Invalid job id" in str(error):
            return None
        raise
    lines = [[part.strip() for part in line.split("|")] for line in shown.splitlines()]
    return parse_job(*lines[0][:7]) if lines and len(lines[0]) >= 7 and lines[0][5] != "N/A" else None


def from_sacct(number: str, settings: dict[str, str]) -> Job | None:
    """A job on record. settings: of the cluster."""
    if "slurmdbd" in settings.get("AccountingStorageType", ""):
        options: list[str] = []
    elif settings.get("JobCompType", "jobcomp/none") != "jobcomp/none":
        options = ["--completion"]
    else:
        return None
    options += ["--noheader", "--parsable2", f"--jobs={number}", f"--format={SACCT_FIELDS}"]
    lines = [line.split("|") for line in ask("sacct", *options).splitlines()]
    # The other lines are steps. A requeued job has several entries; the last counts.
    entries = [line for line in lines if line[0] == number]
    if not entries:
        return None
    steps = [int(line[5]) for line in lines if re.fullmatch(rf"{number}\.\d+", line[0]) and line[5].isdigit()]
    _, user, state, nodes, cpus, _, began, ended = entries[-1]
    return parse_job(user, state, nodes, cpus, str(max(steps)) if steps else "", began, ended)


def parse_job(user: str, state: str, nodes: str, cpus: str, tasks: str, began: str, ended: str) -> Job:
    """A job from the fields that Slurm's commands print. Raises SlurmError if they cannot be parsed."""
    try:
        names = tuple(ask("scontrol", "show", "hostnames", nodes).split()) if nodes not in ("", "None assigned") else ()
        return Job(
            user=user.partition("(")[0],
            state=state.partition(" ")[0],
            nodes=names,
            cpus=int(cpus),
            tasks=int(tasks) if tasks else None,
            began=float(began),
            ended=float(ended) if ended.isdigit() else None,
        )
    except ValueError as error:
        raise SlurmError(f"what Slurm tells of it cannot be read: {error}") from error


def ask(*command: str) -> str:
    """The output of one of Slurm's commands, with times in seconds since 1970. Raises SlurmError."""
    return output(*command, SLURM_TIME_FORMAT="%s")
