"""One rank of lab 11's job, started by srun:  python -P -m course.batch.requeued NOTEBOOK EPOCHS SECONDS

The notebook must define, in any of its cells,

    requeued_training(folder, epochs, seconds) -> (whether all is done, losses of the steps made)

If it is not done, a signal has ended it, and rank 0 asks Slurm to queue the job again: once, for its own element of an
array, and no more than MOST times. A signal that comes before the training has begun ends it, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from course.processes.slurm_command import address_of
from course.processes.surroundings.folder import folder_last

ENTRY = "requeued_training"
SIGNALS = (signal.SIGTERM, signal.SIGUSR2)  # which end an attempt
MOST = 5  # times that a job is queued again


def own_job(environ: dict[str, str]) -> str:
    """What `scontrol` calls this job; in an array, this element of it and not the whole."""
    if "SLURM_ARRAY_JOB_ID" in environ:
        return f"{environ['SLURM_ARRAY_JOB_ID']}_{environ['SLURM_ARRAY_TASK_ID']}"
    return environ["SLURM_JOB_ID"]


def start_group(environ: dict[str, str]) -> None:
    """Start the process group of gloo, from the variables that srun sets."""
    import torch.distributed as dist

    port = 10_000 + int(environ["SLURM_JOB_ID"]) % 10_000
    address = address_of(environ["SLURM_STEP_NODELIST"])
    rank, size = int(environ["SLURM_PROCID"]), int(environ["SLURM_NTASKS"])
    dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=size)


def main(notebook: Path, epochs: int, seconds: float) -> int:
    """Train on this rank, and let rank 0 have the job queued again if it is not done. Returns the exit status."""
    folder_last()
    early: list[int] = []
    for number in SIGNALS:  # before torch is imported, which takes seconds: by default they end the process
        signal.signal(number, lambda number, frame: early.append(number))
    import torch
    import torch.distributed as dist

    from course.batch.torchrun_rank import definitions

    environ = dict(os.environ)
    start_group(environ)
    rank, before = dist.get_rank(), int(environ.get("SLURM_RESTART_COUNT", "0"))
    train = definitions(notebook, ENTRY)[ENTRY]
    signalled = torch.tensor(len(early))
    dist.all_reduce(signalled)
    done, losses = (False, []) if signalled else train(str(notebook.parent.resolve()), epochs, seconds)
    dist.barrier()
    dist.destroy_process_group()
    if rank > 0:
        return 0
    steps = f"{len(losses)} step{'s' if len(losses) != 1 else ''}"
    print(f"attempt {before + 1}: {steps}, {'done' if done else 'stopped by a signal'}", flush=True)
    if done:
        return 0
    if before >= MOST:
        print(f"queued again {before} times already, and not done: no more", flush=True)
        return 1
    print(f"queued again: job {own_job(environ)}", flush=True)
    return subprocess.run(["scontrol", "requeue", own_job(environ)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
