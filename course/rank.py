"""What mpiexec or srun starts on each rank: it gives its place to the process of the rank proper, and stays.

Where there is a nursery (see `course.nursery`), it forks that process; else this program does. How the process ended,
by exit status or signal, is noted, and this program stays until the world replaces its ranks. So a rank that dies does
not take the MPI job with it at once, and the world can still ask the others where they stand. Without a nursery, that
also needs `course.open_files`.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress

from course.open_files import share_open_files

FOLDER = "LOCKSTEP_FOLDER"
NURSERY = "LOCKSTEP_NURSERY"
WAIT = 120.0  # seconds that a rank waits for the nursery's imports, on a slow machine
LOOK = 2.0  # seconds between two looks whether the world is there
HEARD = {signal.SIGCHLD, signal.SIGUSR1}
PR_SET_PDEATHSIG = 1
# What ranks use, and what ipykernel imports when it starts: debugpy alone takes it a tenth of a second. The first
# optimizer that a process makes imports torch._dynamo: on four ranks at once, on two cores, that takes 2.4 s.
IMPORTED = (
    "IPython.core.completerlib",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "ipyparallel.engine.app",
    "numpy.random",
    "torch._dynamo",
    "torch.distributed",
    "tornado.platform.asyncio",
)


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
    import_libraries()  # before the rank counts as ready, so that no deadline pays for it
    from ipyparallel.engine.app import main

    place = {"pid": os.getpid(), "step": os.environ.get("SLURM_STEP_ID")}
    write_whole(status_path(folder, rank), {**place, "state": "started"})
    main()


def import_libraries() -> None:
    """Import what ranks use, but mpi4py.MPI, whose import starts MPI.

    What is imported stays, so the garbage collector need not look through it again and again, which also would give
    each fork a copy of it.
    """
    import importlib.util

    gc.disable()
    for name in IMPORTED:
        importlib.import_module(name)
    if importlib.util.find_spec("horovod"):  # labs without it work where it is not installed
        importlib.import_module("horovod.torch")
    gc.freeze()
    gc.enable()


def status_path(folder: str, rank: int) -> str:
    """Where the state of a rank's process is noted."""
    return f"{folder}/rank-{rank}.json"


def write_end(folder: str, rank: int, pid: int, status: int) -> None:
    """Note how a rank's process ended. status: as os.waitpid gives it."""
    code = os.waitstatus_to_exitcode(status)
    with suppress(FileNotFoundError):  # the world replaced it, and does not ask any more
        write_whole(status_path(folder, rank), {"pid": pid, "state": "ended", "code": code})


def hand_over(path: str, place: dict) -> None:
    """Ask the nursery at `path` for a process in this one's place, which has this one's standard streams.

    place: "folder", "rank", "argv", "environment" and "directory". Raises TimeoutError if there is no nursery.
    """
    end = time.monotonic() + WAIT
    with socket.socket(socket.AF_UNIX) as line:
        while True:
            try:
                line.connect(path)
                break
            except OSError:
                if time.monotonic() > end:
                    raise TimeoutError(f"the nursery did not answer within {WAIT:g} s") from None
                time.sleep(0.02)
        message = json.dumps(place).encode()
        socket.send_fds(line, [len(message).to_bytes(8, "big")], [0, 1, 2])
        line.sendall(message)
        line.shutdown(socket.SHUT_WR)


def stay(folder: str, rank: int, child: int | None) -> None:
    """Wait until the ranks' folder is gone; meanwhile note how `child` ends, and pass it on where it is asked about."""
    while os.path.isdir(folder):
        came = signal.sigtimedwait(HEARD, LOOK)
        if child and came and came.si_signo == signal.SIGUSR1:
            os.kill(child, signal.SIGUSR1)
        if child and (ended := os.waitpid(child, os.WNOHANG))[0]:
            write_end(folder, rank, *ended)
            child = None


def main() -> None:
    """Have the rank's process made, and stay until the world ends or replaces it."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    folder, rank = os.environ[FOLDER], world_rank()
    if nursery := os.environ.get(NURSERY):
        place = {"folder": folder, "rank": rank, "argv": sys.argv, "directory": os.getcwd()}
        hand_over(nursery, {**place, "environment": dict(os.environ)})
        child = None
    else:
        child = os.fork()
        if child == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            share_open_files(die_with_parent)
            become_engine(folder, rank)
            os._exit(0)
    stay(folder, rank, child)


if __name__ == "__main__":
    main()
