"""One task of an array that grades: gathers evidence on its submissions, in sandboxes on its compute node.

    python -P -m autograde.slurm.array_task TASKS      in a Slurm job, see slurm/grade.sh and
    `autograde.slurm.array_folder`

It gives no verdict and writes to no gradebook. If it is requeued, it skips what it has finished.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from autograde.labs.folder import LabError, LoadedLab, find_lab, load_lab
from autograde.labs.places import REPOSITORY
from autograde.sandbox.bubblewrap import SandboxRefused
from autograde.sandbox.examine import gather
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import MIB, Limits, default_jobs
from autograde.slurm.array_folder import ArrayFolder, Tasks, code_of
from course.processes.surroundings import machine


def main() -> int:
    """Run the task that SLURM_ARRAY_TASK_ID names. Returns the exit status; the last line printed says what failed."""
    path = Path(sys.argv[1])
    tasks, folder = Tasks.read(path), ArrayFolder(path.parent)
    try:
        root = Path(tasks.root)
        if code_of(root, tasks.lab) != tasks.code:
            raise LabError(
                f"{REPOSITORY} or the checks of {tasks.lab} are not the same here as where `lockstep grade` runs: all "
                "nodes must see the same clone, and nobody may change it meanwhile"
            )
        names = [name for name in tasks.chunks[task_index()] if name not in folder.finished()]
        return examine(folder, load_lab(find_lab(root, tasks.lab)), tasks, names)
    except (LabError, SandboxRefused, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def task_index() -> int:
    """This task's index in the array."""
    return int(os.environ["SLURM_ARRAY_TASK_ID"])


def examine(folder: ArrayFolder, lab: LoadedLab, tasks: Tasks, names: list[str]) -> int:
    """Gather evidence on these submissions, several at once. Returns 1 if one of them raised."""
    limits = Limits(**tasks.limits)
    jobs = tasks.jobs or jobs_here(limits)
    failed = 0
    with (
        Sandboxes(lab, limits, sandboxed=tasks.sandboxed, expected=len(names), ahead=jobs) as sandboxes,
        ThreadPoolExecutor(jobs) as pool,
    ):
        for done in as_completed([pool.submit(examine_one, folder, lab, name, sandboxes) for name in names]):
            if error := done.exception():
                failed = 1
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return failed


def examine_one(folder: ArrayFolder, lab: LoadedLab, name: str, sandboxes: Sandboxes) -> None:
    """Gather evidence on one submission, and leave it in the folder."""
    submission = folder.submission(name)
    gathered, seconds = gather(lab, submission.answers, submission.seed, sandboxes)
    folder.put_result(name, submission.digest, gathered, seconds)


def jobs_here(limits: Limits) -> int:
    """How many submissions to examine at once on the job's processors and in its memory."""
    cpus = min(machine.cores(), int(os.environ.get("SLURM_CPUS_ON_NODE", machine.cores())))
    left = machine.memory().available
    return default_jobs(limits, min(memory_here(cpus) * MIB or left, left), cpus)


def memory_here(cpus: int) -> int:
    """MiB that the job has on this node; 0 if it has no limit.

    A job that was submitted in another one has the other's variable as well, if that asked for memory another way. Then
    the smaller of the two counts, which no limit is below.
    """
    by_node = int(os.environ.get("SLURM_MEM_PER_NODE", 0))
    by_core = cpus * int(os.environ.get("SLURM_MEM_PER_CPU", 0))
    return min(filter(None, (by_node, by_core)), default=0)


if __name__ == "__main__":
    sys.exit(main())
