"""The program that mpiexec starts on each rank: a small parent that looks after the process of the rank proper.

The parent says how its child ended, by exit status or signal, and stays until the world replaces its ranks. So a rank
that dies does not take the MPI job with it at once, and the world can still ask the others where they stand.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys

FOLDER = "LOCKSTEP_FOLDER"
PR_SET_PDEATHSIG = 1


def world_rank() -> int:
    """This process's rank, from the environment that Open MPI, MPICH or Slurm gives."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        if name in os.environ:
            return int(os.environ[name])
    raise RuntimeError("No rank in the environment: start this program by mpiexec or srun.")


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies; see prctl(2)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def write_whole(path: str, data: dict) -> None:
    """Write JSON so that a reader sees all of it or nothing."""
    with open(f"{path}.part", "w") as file:
        json.dump(data, file)
    os.replace(f"{path}.part", path)


def become_engine(folder: str, rank: int) -> None:
    """Turn this process into the rank's ipyparallel engine, which tells on SIGUSR1 where it stands."""
    die_with_parent()
    stack = open(f"{folder}/rank-{rank}.stack", "w")  # noqa: SIM115, stays open as long as the process lives
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
    import torch.distributed  # noqa: F401, before the rank counts as ready, so that no deadline pays for it
    from ipyparallel.engine.app import main

    write_whole(f"{folder}/rank-{rank}.json", {"pid": os.getpid(), "state": "started"})
    main()


def main() -> None:
    """Fork the engine, wait for its end, note it, and stay."""
    die_with_parent()
    folder, rank = os.environ[FOLDER], world_rank()
    child = os.fork()
    if child == 0:
        become_engine(folder, rank)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    write_whole(f"{folder}/rank-{rank}.json", {"pid": child, "state": "ended", "code": code})
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
