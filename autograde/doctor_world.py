"""What the doctor finds out of a notebook's surroundings: folder, environment, memory, limits, proxies, and a world.

All of this is of the folder and the environment in which the doctor runs, so it is to be called where the notebook is:
the message of a world that does not start has the command.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from course.processes.launchers.mpi import devices
from course.processes.slurm_command import SlurmError
from course.processes.surroundings import folder, job, limits, machine, proxies, room
from course.processes.surroundings.environment import MACHINE, left_out

RANKS = 4  # as many as most labs start
WORLD = """
from course.world import COMM, World
try:
    with World(2, progress=False) as world:
        print(world, world.run(lambda comm: comm.allreduce(comm.rank + 1), COMM, deadline=60))
except Exception as error:
    raise SystemExit(str(error) or type(error).__name__)
"""


@dataclass(frozen=True)
class Probe:
    """The result of one probe.

    works: `yes`, `partly` or `no`.
    seen: what was seen, in a few words.
    mend: the command that helps if it does not work.
    needed: whether the labs need it.
    """

    name: str
    works: str
    seen: str
    mend: str = ""
    needed: bool = False


def surroundings() -> Iterator[Probe]:
    """What can be seen without starting anything."""
    yield from probe_folder()
    yield probe_memory()
    yield probe_limits()
    yield probe_machine()
    yield probe_proxies()
    yield probe_environment()
    yield from probe_job()


def probe_folder() -> Iterator[Probe]:
    """Whether files beside the notebook hide modules from it. Ranks start all the same."""
    if (here := folder.here()) is None:
        yield Probe("folder", "no", "the current folder has been deleted", "cd    # to one that is there", needed=True)
        return
    hides = folder.hidden()
    for name, what in hides.items():
        yield Probe("folder", "partly", f"{here}/{name} hides {what}", f"mv {name} my_{name}")
    if not hides:
        yield Probe("folder", "yes", f"{here}, where no file hides a module")


def probe_memory() -> Probe:
    """Whether there is room for the files of a world, and in memory."""
    if not (short := room.shortage(RANKS, [room.MEMORY])):
        return Probe(
            "memory", "yes", f"{room.MEMORY} has {room.free(room.MEMORY) / room.MIB:.0f} MiB free", needed=True
        )
    mend = f"ls -lS {room.MEMORY}    # delete what is yours; a container gets more by --shm-size=1g"
    if everywhere := room.shortage(RANKS, room.places()):
        return Probe("memory", "no", everywhere, mend, needed=True)
    if "NCCL" in devices(2):
        return Probe("memory", "no", f"{short}; NCCL has the memory that GPUs share nowhere else", mend, needed=True)
    return Probe("memory", "partly", f"{short}; a disk is used instead", mend, needed=True)


def probe_limits() -> Probe:
    """Whether a limit of the shell is too low for ranks."""
    low = limits.low_limits()
    if not low:
        return Probe("limits", "yes", "ulimit allows enough open files, processes and memory", needed=True)
    seen = "; ".join(f"ulimit -{option} allows {allowed}" for option, allowed in low.items())
    mend = f"ulimit -{next(iter(low))} unlimited    # in the shell that starts JupyterLab, or ask who runs this machine"
    return Probe("limits", "no", seen, mend, needed=True)


def probe_machine() -> Probe:
    """How much of this machine there is to use: all of it, or what a container, a job or a session may have."""
    have, may, cores = machine.memory(), machine.processes(), machine.cores()
    host = os.cpu_count() or cores
    seen = f"{cores} core{'s' * (cores != 1)}{f' of {host}' if cores < host else ''}, "
    seen += f"{machine.in_words(have.available)} left of {machine.in_words(have.total)} of memory"
    seen += f" ({have.group})" if have.group else ""
    seen += f", {may.left} left of {may.total} processes and threads ({may.group})" if may else ""
    if few := limits.few_processes(RANKS):
        return Probe("machine", "no", f"{seen}. {few}", limits.MORE_PROCESSES, needed=True)
    if low := limits.low_memory(RANKS):
        return Probe("machine", "partly", f"{seen}. {low}", limits.MORE_MEMORY, needed=True)
    return Probe("machine", "yes", seen, needed=True)


def probe_proxies() -> Probe:
    """Whether requests to this machine go through a proxy, which does not know its JupyterHub."""
    if names := proxies.proxied(os.environ):
        mend = f"export no_proxy={','.join(proxies.HERE)}"
        return Probe("proxies", "partly", f"{', '.join(names)} also get what is for this machine", mend)
    return Probe("proxies", "yes", "none gets what is for this machine")


def probe_environment() -> Probe:
    """Which variables of this environment ranks do not get."""
    names = sorted(left_out(os.environ, MACHINE))
    if not names:
        return Probe("environment", "yes", "ranks get all of it")
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return Probe("environment", "yes", f"ranks do not get {shown}: see course/processes/surroundings/environment.py")


def probe_job() -> Iterator[Probe]:
    """What has become of the Slurm job that this environment names, if it names one."""
    if not os.environ.get(job.NAME):
        return
    number = os.environ[job.NAME]
    if not shutil.which("srun"):
        yield Probe(
            "job", "partly", f"{job.NAME} names Slurm job {number}, but there is no srun here", f"unset {job.NAME}"
        )
        return
    try:
        standing = job.standing()
    except SlurmError as error:
        yield Probe("job", "no", f"{job.NAME} names Slurm job {number}, and {error}", f"unset {job.NAME}", needed=True)
        return
    if standing.job:
        yield Probe("job", "yes", f"ranks start in Slurm job {number}")
    else:
        yield Probe("job", "partly", standing.ended, f"unset {job.NAME}    # before JupyterLab is started")


def world_command() -> list[str]:
    """The command that starts a world of two ranks here, and uses it."""
    return [sys.executable, "-P", "-c", WORLD]
