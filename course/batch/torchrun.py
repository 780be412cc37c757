"""Runs a notebook's training by torchrun, in a Slurm job:  python -m course.batch.torchrun NOTEBOOK

This is what `LAUNCHER=torchrun sbatch run.sh` does. It does not run the cells as they are: each rank takes only the
notebook's imports, functions and classes, and calls its function `batch_training` (see `course.batch.torchrun_rank`).
Record and exit statuses are those of `course.batch.run`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from course.batch.record import Job, summary
from course.batch.run import STOPPED, Batch, BatchError, Stopped, exit_status, say, size_of
from course.ports import free_port
from course.processes.surroundings.environment import JOB, taken
from course.processes.surroundings.folder import SAFE_PATH
from course.processes.surroundings.job import standing

EPOCHS = 3
# What a site sets for the job's ranks, which srun must not see when it starts one torchrun on each node.
FOR_RANKS = ("SLURM_GPUS_PER_TASK", "SRUN_CPUS_PER_TASK")


def command(job: Job, place: Sequence[str], notebook: Path, folder: Path) -> list[str]:
    """The command that starts a job's ranks. place: srun's options for a step in it, whose variables srun does not get.
    folder: one that all its nodes see. Raises BatchError."""
    nodes, ranks = len(job["nodes"]), job["ranks"]
    if ranks % nodes:
        more = f"--ntasks {(ranks // nodes + 1) * nodes}"
        raise BatchError(
            f"torchrun starts equally many ranks on each node: {ranks} on {nodes} nodes cannot be; sbatch {more}"
        )
    cores = ranks // nodes * int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    srun = [
        "srun",
        *place,
        "--mpi=none",
        "--overlap",
        "--kill-on-bad-exit=1",
        f"--nodes={nodes}",
        f"--ntasks={nodes}",
        "--ntasks-per-node=1",
    ]
    # The batch script, and so this process, is on the first node. Not the c10d rendezvous: it would end with the first
    # node that is done, and the others would fail.
    rendezvous = ["--rdzv-backend=static", f"--master-addr={socket.gethostname()}", f"--master-port={free_port()}"]
    torchrun = ["-P", "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--nproc-per-node={ranks // nodes}"]
    rank = ["-m", "course.batch.torchrun_rank", str(notebook), str(folder), str(EPOCHS)]
    numbered = ["bash", "-c", 'PET_NODE_RANK=$SLURM_NODEID exec "$@"', "torchrun"]
    return [*srun, f"--cpus-per-task={cores}", *numbered, sys.executable, *torchrun, *rendezvous, *rank]


def run(batch: Batch, shared: Path) -> int:
    """Train on all ranks of the job, and write the record. Returns the exit status. shared: folder all nodes see."""
    batch.reports = shared / "reports.jsonl"
    say(f"{batch.lab}: job {batch.job['id']}, {size_of(batch.job)}, by torchrun")
    if (job := standing().job) is None:
        raise BatchError(f"job {batch.job['id']} has no nodes any more")
    kept = taken(os.environ, JOB, job.step(batch.job["ranks"]))
    environment = {name: value for name, value in kept.items() if name not in FOR_RANKS}
    environment[SAFE_PATH] = "1"  # also for the ranks, which torchrun starts; see `folder_last`
    environment.setdefault("OMP_NUM_THREADS", os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    ranks = subprocess.Popen(command(batch.job, job.place, batch.path.resolve(), shared), env=environment)
    signal.signal(signal.SIGTERM, batch.stop)
    try:
        status = ranks.wait()
    except Stopped:
        ranks.terminate()
        return STOPPED
    if status:
        batch.failed["torchrun"] = f"torchrun ended with status {status}; the log above says where"
        say(batch.failed["torchrun"])
    for report in batch.reported():
        say("\n".join(summary(report)))
    batch.write("failed" if status else "completed")
    return 1 if status else 0


def main(arguments: list[str]) -> int:
    """Run the notebook that the arguments name. Returns the exit status."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m course.batch.torchrun NOTEBOOK")
    return exit_status(lambda: run_notebook(Path(arguments[0])))


def run_notebook(path: Path) -> int:
    """Run a notebook under torchrun. Returns the exit status. Raises BatchError, OSError."""
    with tempfile.TemporaryDirectory(prefix=".torchrun-", dir=path.resolve().parent) as shared:
        batch = Batch(path, Path(shared), launcher="torchrun")
        if batch.job is None:
            raise BatchError("this is for a job of Slurm's: `LAUNCHER=torchrun sbatch run.sh`")
        return run(batch, Path(shared))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
