"""Imports what every rank needs once, and forks the ranks from there.

Importing torch takes a rank more than a second of CPU time, MPI_Init a fraction of that. So one process per world
imports everything, and each rank is a fork of it: it shares the memory of what was imported, and is ready at once, also
when ranks are replaced. The program that mpiexec started hands over its place: environment, arguments and open files.

    python -m course.nursery SOCKET OWNER
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from course import rank, reaper

LOOK = 2.0  # seconds between two looks whether the owner is there


def receive(line: socket.socket) -> tuple[dict, list[int]]:
    """The other end of `rank.hand_over`: the place, and its standard streams."""
    header, streams, _, _ = socket.recv_fds(line, 8, 3)
    length = int.from_bytes(header, "big")
    message = b""
    while len(message) < length and (part := line.recv(length - len(message))):
        message += part
    return json.loads(message), list(streams)


def take(place: dict, streams: list[int]) -> None:
    """In a fresh fork: become the rank of this place. Does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(place["directory"])
        os.environ.clear()
        os.environ.update(place["environment"])
        sys.argv = place["argv"]
        tempfile.tempdir = None  # known from our own environment; it goes with the ranks that are replaced
        fresh_randomness()
        rank.become_engine(place["folder"], place["rank"])
        code = 0
    finally:
        os._exit(code)


def fresh_randomness() -> None:
    """Give this fork its own random numbers where the library seeds itself from the system."""
    import numpy

    random.seed()
    numpy.random.seed()


def serve(path: str, owner: int) -> None:
    """Fork a rank for each request, and note how each ended. Returns when `owner`, the parent process, is gone.

    Ranks end with their parent, and what mpiexec started with its folder: so they end without their reaper, too.
    """
    places: dict[int, dict] = {}

    def note_ends(*_: Any) -> None:
        # A signal may come while the last one is dealt with: each end is asked for once, whoever of the two gets it.
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                place = places.pop(ended[0])
                rank.write_end(place["folder"], place["rank"], *ended)

    signal.signal(signal.SIGCHLD, note_ends)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{path}.part")
        door.listen(1024)
        door.settimeout(LOOK)
        os.rename(f"{path}.part", path)
        while os.getppid() == owner:
            try:
                line, _ = door.accept()
            except TimeoutError:
                continue
            with line:
                line.setblocking(True)
                place, streams = receive(line)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            pid = os.fork()
            if pid == 0:
                door.close()
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
                take(place, streams)
            places[pid] = place
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            for stream in streams:
                os.close(stream)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


class Nursery:
    """The world's end of a nursery, which serves at ``folder/nursery``.

    environment: of the ranks. fork: make it a fork of this process, which has imported what ranks use and was started
    `reaper.UNMARKED`; else it is a Python of its own, which imports them now.
    """

    def __init__(self, folder: str, environment: dict[str, str], fork: bool) -> None:
        self._log = f"{folder}/nursery.log"
        path = f"{folder}/nursery"
        if fork:
            arguments = (path, os.getpid(), environment[reaper.MARK], self._log)
            self._fork = multiprocessing.get_context("fork").Process(target=serve_as_fork, args=arguments, daemon=True)
            self._fork.start()
            self.pid = self._fork.pid
            return
        self._fork = None
        with open(self._log, "w") as output:
            self._started = subprocess.Popen(
                [sys.executable, "-m", "course.nursery", path, str(os.getpid())],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._started.pid

    @property
    def ended(self) -> bool:
        """Whether nobody is there to fork ranks."""
        return not self._fork.is_alive() if self._fork else self._started.poll() is not None

    @property
    def said(self) -> str:
        """What it printed."""
        return Path(self._log).read_text() if os.path.exists(self._log) else ""


def serve_as_fork(path: str, owner: int, mark: str, log: str) -> None:
    """Serve in a fork of a process that has imported everything, and was started `reaper.UNMARKED`."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 2**16)  # what the ancestor has open is none of the ranks' business
    reaper.mark_this_process(mark)
    serve(path, owner)


def main() -> None:
    """Import, then serve."""
    rank.import_libraries()
    serve(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
