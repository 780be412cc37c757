"""What mpiexec starts on each rank where there is a fork server: it hands over its place, and stays.

It is run by its path, by a Python that looks for no packages, and imports little: so it starts in a fifth of the time
of a program that imports `course`. That counts, as there is one for each rank, whenever ranks are started or replaced.

    python -S -E -P handover.py ARGUMENTS OF THE ENGINE
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import time
from typing import TypedDict

FOLDER = "LOCKSTEP_FOLDER"
FORK_SERVER = "LOCKSTEP_FORK_SERVER"  # its socket; for ranks on one machine
WAIT = 120.0  # seconds that a rank waits for the fork server's imports, on a slow machine
POLL = 2.0  # seconds between two checks whether the world is there
SIGNALS = {signal.SIGCHLD, signal.SIGUSR1}
PR_SET_PDEATHSIG = 1


class ForkRequest(TypedDict):
    """What the fork server must know to make a rank's process. directory: to run in. folder: of all these ranks."""

    folder: str
    rank: int
    argv: list[str]
    directory: str
    environment: dict[str, str]


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies; see prctl(2)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def world_rank() -> int:
    """This process's rank, from the environment that Open MPI, MPICH or Slurm gives."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        if name in os.environ:
            return int(os.environ[name])
    raise RuntimeError("No rank in the environment: start this program by mpiexec or srun.")


def own_place() -> ForkRequest:
    """The place of this process, which mpiexec or srun has started."""
    place = {"folder": os.environ[FOLDER], "rank": world_rank(), "argv": sys.argv, "directory": os.getcwd()}
    return {**place, "environment": dict(os.environ)}


def send(line: socket.socket, request: dict, files: list[int]) -> None:
    """Send a request to a fork server. The sender may close its files at once. Raises OSError."""
    message = json.dumps(request).encode()
    socket.send_fds(line, [len(message).to_bytes(8, "big")], files)
    line.sendall(message)


def request_fork(path: str, place: ForkRequest) -> None:
    """Ask the fork server at `path` for a process in this one's place, which has this one's standard streams.

    Raises TimeoutError if there is no server.
    """
    end = time.monotonic() + WAIT
    with socket.socket(socket.AF_UNIX) as line:
        while True:
            try:
                line.connect(path)
                break
            except OSError:
                if time.monotonic() > end:
                    raise TimeoutError(f"the fork server did not answer within {WAIT:g} s") from None
                time.sleep(0.02)
        send(line, place, [0, 1, 2])
        line.shutdown(socket.SHUT_WR)


def main() -> None:
    """Have the rank's process made, and stay until the world ends or replaces it."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    place = own_place()
    request_fork(os.environ[FORK_SERVER], place)
    while os.path.isdir(place["folder"]):
        signal.sigtimedwait(SIGNALS, POLL)


if __name__ == "__main__":
    main()
