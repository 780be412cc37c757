"""The fork server of a world's ranks: one for each world, or under Slurm for each of its nodes.

Importing torch takes a rank more than a second of CPU time, MPI_Init a fraction of that. So one process per world
imports everything, and each rank is a fork of it: it shares the memory of what was imported, and is ready at once, also
when ranks are replaced. The program that mpiexec started hands over its place: environment, arguments and open files.

    python -P -m course.processes.rank_server SOCKET OWNER
    srun ... python -P -m course.processes.rank_server --node SERVERS

On a node, the fork server has a step of its own in the Slurm job, and outlives the steps of ranks that are replaced.
Slurm would end what is in their step; so each rank has a keeper, a fork as well, which ends it with the connection to
the program that srun started. It does for the rank what `course.processes.rank` does where it forks it itself.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import course.processes.surroundings.machine  # noqa: F401  write_end takes it, in a handler, which must not import
from course.files import write_whole
from course.processes import fork_server, rank, reaper
from course.processes.ranks.status import write_end

POLL = 2.0  # seconds between two checks whether the owner is there
STREAMS = 3  # standard input, output and error, which a rank takes over


def become_rank(place: dict, streams: list[int]) -> None:
    """In a fresh fork: become the rank of this place."""
    take(place, streams)
    rank.become_engine(place["folder"], place["rank"])


def take(place: dict, streams: list[int]) -> None:
    """In a fresh fork: be to others as the program that handed over its place."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(place["directory"])
    os.environ.clear()
    os.environ.update(place["environment"])
    sys.argv = place["argv"]
    tempfile.tempdir = None  # known from our own environment; it goes with the ranks that are replaced
    fork_server.fresh_randomness()


def become_keeper(place: dict, files: list[int]) -> None:
    """In a fresh fork on a node: start the rank of this place, and end it with the connection, which comes last."""
    rank.die_with_parent()
    *streams, connection = files
    take(place, streams)
    with suppress(OSError):  # the rank's cores, which Slurm may have chosen
        os.sched_setaffinity(0, place["affinity"])

    def begin() -> None:
        line.close()
        reaper.mark_this_process(os.environ[reaper.MARK])

    with socket.socket(fileno=connection) as line:
        child = rank.start(place["folder"], place["rank"], begin)
        line.send(rank.STARTED)
        keep(place["folder"], place["rank"], child, line)
    reaper.kill_marked(os.environ[reaper.MARK])  # also what the rank started; its generation has ended


def keep(folder: str, member: int, child: int, line: socket.socket) -> None:
    """Note how the rank's process ends, and have it tell where it stands when asked, until `line` is closed."""
    alive = True

    def note_end(*_: Any) -> None:
        nonlocal alive
        with suppress(ChildProcessError):  # asked for once, whoever gets it: see `serve`
            if (ended := os.waitpid(child, os.WNOHANG))[0]:
                alive = False
                write_end(folder, member, *ended)

    signal.signal(signal.SIGCHLD, note_end)
    note_end()
    line.settimeout(POLL)
    while os.path.isdir(folder):
        try:
            if not line.recv(1):
                return
        except TimeoutError:
            continue
        except OSError:
            return
        if alive:
            os.kill(child, signal.SIGUSR1)


def connections(door: socket.socket, needed: Callable[[], bool]) -> Iterator[socket.socket]:
    """Each connection to `door`, open until the next is asked for, as long as `needed()`."""
    while needed():
        try:
            line, _ = door.accept()
        except TimeoutError:
            continue
        with line:
            line.setblocking(True)
            yield line


def places(door: socket.socket, owner: int) -> Iterator[fork_server.Request]:
    """What `handover.request_fork` sends, one on each connection, as long as `owner`, the parent process, is there."""
    for line in connections(door, lambda: os.getppid() == owner):
        if request := fork_server.receive(line, STREAMS):
            yield request


def serve(path: str, owner: int) -> None:
    """Fork a rank for each request, and note how each ended. Returns when `owner`, the parent process, is gone.

    Ranks end with their parent, and what mpiexec started with its folder: so they end without their reaper, too.
    """
    known: dict[int, dict] = {}

    def note_ends(*_: Any) -> None:
        # A signal may come while the last one is dealt with: each end is asked for once, whoever of the two gets it.
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                place = known.pop(ended[0])
                write_end(place["folder"], place["rank"], *ended)

    signal.signal(signal.SIGCHLD, note_ends)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{path}.part")
        door.listen(1024)
        door.settimeout(POLL)
        os.rename(f"{path}.part", path)
        fork_server.serve(places(door, owner), door, become_rank, started=known.__setitem__)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def node_places(door: socket.socket, folder: str) -> Iterator[fork_server.Request]:
    """What `rank.request_fork_on_node` sends, with the connection as the last file, as long as there is `folder`."""
    for line in connections(door, lambda: os.path.isdir(folder)):
        if fork_server.same_person(line) and (request := fork_server.receive(line, STREAMS)):
            place, streams = request
            yield place, [*streams, os.dup(line.fileno())]


def serve_node(servers: str) -> None:
    """Fork a keeper for each rank on this node. Returns when the world's folder is gone.

    The socket is in no folder: one that all nodes see need not have sockets, and what is in one of the node's own stays
    there if this is killed. It is there before the imports: ranks that find nobody start by themselves.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    name = f"\0lockstep-{uuid.uuid4().hex}".encode()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(name)
        door.listen(1024)
        door.settimeout(POLL)
        write_whole(rank.node_file(servers), name)
        rank.import_libraries()
        fork_server.serve(node_places(door, os.path.dirname(servers)), door, become_keeper)


class RankServer:
    """The world's end of its fork server, which serves at ``folder/fork-server``.

    environment: the whole one of the ranks. fork: make it a fork of this process, which has imported what ranks use and
    was started `reaper.UNMARKED`; else it is a Python of its own, which imports them now.
    """

    def __init__(self, folder: str, environment: dict[str, str], fork: bool) -> None:
        self._log = f"{folder}/fork-server.log"
        path = f"{folder}/fork-server"
        if fork:
            arguments = (path, os.getpid(), environment[reaper.MARK], self._log)
            self._fork = multiprocessing.get_context("fork").Process(target=serve_as_fork, args=arguments, daemon=True)
            self._fork.start()
            self.pid = self._fork.pid
            return
        self._fork = None
        with open(self._log, "w") as output:
            self._started = subprocess.Popen(
                [sys.executable, "-P", "-m", "course.processes.rank_server", path, str(os.getpid())],
                env=environment,
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
    def output(self) -> str:
        """What it printed."""
        return Path(self._log).read_text() if os.path.exists(self._log) else ""


def serve_as_fork(path: str, owner: int, mark: str, log: str) -> None:
    """Serve in a fork of a process that has imported everything, and was started `reaper.UNMARKED`."""
    os.setsid()
    multiprocessing.current_process().daemon = False  # a daemon's children may have none: no loader's workers
    output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 2**16)  # what the ancestor has open is none of the ranks' business
    reaper.mark_this_process(mark)
    serve(path, owner)


def main() -> None:
    """Import, and serve."""
    if sys.argv[1] == "--node":
        serve_node(sys.argv[2])
    else:
        rank.import_libraries()
        serve(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
