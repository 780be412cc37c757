"""One task of an array that grades: gathers evidence on its submissions, in the sandbox of its compute node.

    python -P -m autograde.array_task TASKS      in a job of Slurm's, see slurm/grade.sh and `autograde.array_folder`

It gives no verdict and writes to no gradebook. What it finished before it was requeued, it does not do again.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from autograde.array_folder import REPOSITORY, ArrayFolder, Tasks, code_of
from autograde.evidence import gather
from autograde.labs import Lab, LabError, find_lab
from autograde.limits import MIB, Limits, default_jobs
from autograde.sandbox import SandboxRefused
from autograde.sandboxes import Sandboxes
from course.launch import cores


def main() -> int:
    """Run the task that SLURM_ARRAY_TASK_ID names. Returns the exit status; the last line tells what went wrong."""
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
        return examine(folder, find_lab(root, tasks.lab), tasks, names)
    except (LabError, SandboxRefused, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def task_index() -> int:
    """Which of the array's tasks this is."""
    return int(os.environ["SLURM_ARRAY_TASK_ID"])


def examine(folder: ArrayFolder, lab: Lab, tasks: Tasks, names: list[str]) -> int:
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


def examine_one(folder: ArrayFolder, lab: Lab, name: str, sandboxes: Sandboxes) -> None:
    """Gather evidence on one submission, and leave it for the writer."""
    given = folder.submission(name)
    gathered, seconds = gather(lab, given.sources, frozenset(given.blank), given.seed, sandboxes, given.again)
    folder.put_result(name, given.digest, gathered, seconds)


def jobs_here(limits: Limits) -> int:
    """As many at once as the job's processors and memory carry."""
    cpus = min(cores(), int(os.environ.get("SLURM_CPUS_ON_NODE", cores())))
    memory = int(os.environ.get("SLURM_MEM_PER_NODE", 0)) or cpus * int(os.environ.get("SLURM_MEM_PER_CPU", 0))
    return default_jobs(limits, memory * MIB or None, cpus)


if __name__ == "__main__":
    sys.exit(main())
