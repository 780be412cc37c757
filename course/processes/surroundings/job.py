"""The Slurm job that SLURM_JOB_ID names, which need not be there any more.

Whoever was started in a job has its number for good: a terminal multiplexer, or a JupyterLab on a login node that was
opened under `salloc`. When the job has ended, its number leads to no nodes, and may be given to another job.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from course.processes.slurm_command import SlurmError, output
from course.processes.surroundings.environment import Step

NAME = "SLURM_JOB_ID"
# States of a job that has its nodes. One that is COMPLETING is about to lose them.
THERE = {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
FORGOTTEN = "Invalid job id"


@dataclass(frozen=True)
class Job:
    """A job as Slurm knows it. state, reason: in its words, e.g. PENDING. owner: user id. cpus: of all its nodes.

    place: options of srun by which a step gets into it.
    """

    number: str
    state: str
    reason: str
    owner: int
    nodes: int
    cpus: int
    gpus: bool
    place: tuple[str, ...]

    def step(self, tasks: int) -> Step:
        """A step of so many ranks in it."""
        return Step(tasks, self.cpus, self.gpus)


@dataclass(frozen=True)
class Standing:
    """What has become of the job that an environment names.

    job: it, where ranks can be in it. ended: else why they cannot, in a sentence; empty where none is named.
    """

    job: Job | None = None
    ended: str = ""


def find(number: str) -> Job:
    """The job of this number. Raises SlurmError, also if Slurm has forgotten it."""
    shown = output("scontrol", "--oneliner", "show", "job", number).splitlines()
    # Of an array, all elements are shown; the last one has the number of the whole.
    line = next((line for line in shown if line.startswith(f"JobId={number} ")), shown[0] if shown else "")
    facts = dict(re.findall(r"\b([\w:/]+)=(\S+)", line))
    owner = re.search(r"\((\d+)\)", facts.get("UserId", ""))
    return Job(
        number,
        facts.get("JobState", "UNKNOWN"),
        facts.get("Reason", "None"),
        int(owner[1]) if owner else -1,
        least(facts.get("NumNodes", "")),
        least(facts.get("NumCPUs", "")),
        "gres/gpu" in line,
        place_in(number, facts),
    )


def place_in(number: str, facts: Mapping[str, str]) -> tuple[str, ...]:
    """The options of srun for a step in a job. A component of a heterogeneous job is reached by the first one's number,
    and its own among them. facts: of the job, as scontrol shows them."""
    if "HetJobId" not in facts:
        return (f"--jobid={number}",)
    return f"--jobid={facts['HetJobId']}", f"--het-group={facts.get('HetJobOffset', '0')}"


def least(number: str) -> int:
    """The number that Slurm tells, of a range its lower end; 1 if it is none."""
    found = re.match(r"\d+", number)
    return max(1, int(found[0])) if found else 1


def standing(environment: Mapping[str, str] | None = None) -> Standing:
    """The job that an environment names, by default this process's. Raises SlurmError if Slurm does not answer."""
    number = (os.environ if environment is None else environment).get(NAME, "").strip()
    if not number or not shutil.which("srun"):
        return Standing()
    named = f"Slurm job {number}, which {NAME} names here,"
    if not number.isdigit():
        return Standing(ended=f"{NAME} is {number!r}, which is no job's number.")
    try:
        job = find(number)
    except SlurmError as error:
        if FORGOTTEN in str(error):
            return Standing(ended=f"{named} has ended, and Slurm has forgotten it.")
        raise
    if job.owner not in (os.getuid(), -1):
        return Standing(ended=f"{named} is another person's by now: yours has ended.")
    if job.state == "PENDING":
        return Standing(ended=f"{named} waits in the queue again.")
    if job.state not in THERE:
        return Standing(ended=f"{named} has ended ({job.state}).")
    return Standing(job)
