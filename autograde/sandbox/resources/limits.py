"""Limits on what a submission may use while it is graded, and the messages when it exceeds them."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from importlib.metadata import version

from course.processes.surroundings import machine

MIB = 2**20
GIB = 2**30
PROCESSES = 128  # and threads that one submission takes, if it starts none itself; measured: 75 with four ranks
BEGIN, LATE = b"b", b"l"  # what a grader says to a supervisor, see there


@dataclass(frozen=True)
class Limits:
    """Limits of one submission. Set them in nbgrader_config.py, e.g. ``c.Judge.limits = {"memory": 8 * 2**30}``.

    memory: bytes, of all its processes and of its files, which are in memory too. processes: how many at once. cpu:
    seconds of processor time, of all its processes. file: bytes in one file. disk: bytes in each of its two folders,
    /tmp and /dev/shm. evidence: bytes that come back for one case. todo, notebook, submission: seconds for the probes
    of one TODO, for all TODOs in one sandbox (the next TODO gets a fresh one), and for everything, including second
    attempts and starting sandboxes; the time in which other programs had the cores is given back, see
    `course.world.deadline`. The deadlines of a check's runs are shorter, and shorter still is the time after which a
    collective counts as deadlocked. Raises ValueError for limits that no submission can keep.
    """

    memory: int = 4 * GIB
    processes: int = 128
    cpu: float = 600.0
    file: int = 256 * MIB
    disk: int = 512 * MIB
    evidence: int = 8 * MIB
    todo: float = 60.0
    notebook: float = 240.0
    submission: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.todo <= self.notebook <= self.submission:
            raise ValueError("limits of time must rise: todo, notebook, submission")
        if self.memory < (least := least_memory()):
            raise ValueError(f"ranks alone take {least // MIB} MiB, and memory is {self.memory // MIB} MiB")

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)


def least_memory() -> int:
    """Bytes without which no submission can be graded: four idle ranks start in 600 MiB, but not in 500.

    Of a torch for GPUs, the libraries alone have 900 MiB of data of their own in each process (measured: 2.13, CUDA
    13.0), also where there is no GPU.
    """
    return (768 if version("torch").endswith("+cpu") else 1536) * MIB


def default_jobs(limits: Limits, memory: int | None = None, cpus: int | None = None) -> int:
    """How many submissions to examine at once: one more than there are cores, but no more than fit in memory if each
    uses all it may, and no more than there may be processes for.

    One more, because ranks spend much of their time waiting: on 2 cores, 3 at once are a tenth faster than 2. memory:
    bytes available; None: what this process may still have. cpus: cores available; None: those of this process.
    """
    memory = machine.memory().available if memory is None else memory
    room = [(cpus or machine.cores()) + 1, memory // limits.memory]
    if may := machine.processes():
        room.append(may.left // PROCESSES)
    return max(1, min(room))


@dataclass(frozen=True)
class Settings:
    """How submissions are examined, on this machine or on others.

    seed: of the cases; None: a new one for each submission. jobs: submissions at once; None: `default_jobs`.
    sandboxed: False runs student code unprotected.
    """

    limits: Limits
    sandboxed: bool
    seed: int | None
    jobs: int | None = None

    def draw_seed(self) -> int:
        """The seed of one submission's cases: unpredictable, unless it is set."""
        return secrets.randbits(32) if self.seed is None else self.seed


# Messages for TODOs that a limit ended, by the finding's key.
EXCEEDED = {
    "memory-limit": "While this TODO ran, its ranks together used more memory than a submission may have.",
    "process-limit": "While this TODO ran, there were more processes and threads than a submission may start.",
    "cpu-limit": "While this TODO ran, the submission used up the processor time that it may have.",
    "evidence-limit": "What your code returned or communicated is too large to be looked at.",
    "sandbox-ended": "While this TODO ran, the process that runs the checks was ended, twice. Your code did that.",
}
