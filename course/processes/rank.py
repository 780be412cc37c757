"""What mpiexec or srun starts on each rank: it gives its place to the process of the rank proper, and stays.

Where a node of Slurm's has a fork server (see `course.processes.rank_server`), it forks that process; else this program
does. (One machine always has one; there, `course.processes.handover` is started.) How the process ended, by exit status
or signal, is noted, and this program stays until the world replaces its ranks. So a rank that dies does not take the
MPI job with it at once, and the world can still ask the others where they stand.
Under srun, and without a fork server, that also needs `course.processes.shared_files`.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypedDict

from course.processes.fork_server import run, same_person
from course.processes.handover import POLL, SIGNALS, WAIT, ForkRequest, die_with_parent, own_place, send, world_rank
from course.processes.ranks.status import read_status, write_end, write_status
from course.processes.shared_files import share_open_files

NODE_SERVERS = "LOCKSTEP_NODE_SERVERS"  # what the files begin with that name the socket of each node's fork server
MEMORY = "LOCKSTEP_RANK_MEMORY"  # bytes that a rank may take, beyond what its libraries have
NODE_WAIT = 30.0  # seconds that Slurm may take to start a node's fork server; without it ranks start all the same
STARTED, ASKED = b"s", b"?"  # what is told on the connection to a node's fork server
# What every rank uses, and what ipykernel imports when it starts: debugpy alone takes it a tenth of a second.
IMPORTED = (
    "IPython.core.completerlib",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "ipyparallel.engine.app",
    "mpi4py",
    "numpy.random",
    "tornado.platform.asyncio",
)
# The first optimizer that a process makes imports torch._dynamo: on four ranks at once, on two cores, that takes 2.4 s.
TORCH = ("torch._dynamo", "torch.distributed")


class Place(TypedDict):
    """Where MPI says that a rank is. size: of COMM_WORLD. library: MPI's name for itself. files: of the library."""

    rank: int
    size: int
    library: str
    files: list[str]


def place_in_world() -> Place:
    """Where this rank is, which has started MPI: that mpiexec has counted it does not mean that MPI has."""
    from mpi4py import MPI

    with open("/proc/self/maps") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/libmpi." in line}
    library = MPI.Get_library_version().strip("\0 \n").partition("\n")[0]
    return {"rank": world_rank(), "size": MPI.COMM_WORLD.size, "library": library, "files": sorted(files)}


def outermost() -> str:
    """The end of what faulthandler writes: the name of the outermost function that runs on this thread."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
    return f" in {frame.f_code.co_name}"


def become_engine(folder: str, rank: int) -> None:
    """Turn this process into the rank's ipyparallel engine, which tells on SIGUSR1 where it stands."""
    die_with_parent()
    stack = open(f"{folder}/rank-{rank}.stack", "w")  # noqa: SIM115, stays open as long as the process lives
    print(outermost(), file=stack, flush=True)
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
    # Before the rank counts as ready, so that no deadline pays for it: Horovod may be there only since the fork server
    # has imported all else.
    import_libraries(torch="torch" in sys.modules)
    from ipyparallel.engine.app import IPEngine, main

    from course.processes.surroundings.folder import folder_last
    from course.processes.surroundings.limits import be_killed_first, limit_memory
    from course.processes.surroundings.machine import out_of_memory

    be_killed_first()
    if share := os.environ.get(MEMORY):
        limit_memory(int(share))
    let_forks_end()
    IPEngine.to_work_dir = lambda self: None  # to where its module was imported: in a fork server, not here
    begin = IPEngine.init_engine

    def init_engine(self: IPEngine) -> None:
        begin(self)  # puts the current folder first
        folder_last()

    IPEngine.init_engine = init_engine
    place = {"pid": os.getpid(), "step": os.environ.get("SLURM_STEP_ID"), "memory": out_of_memory()}
    write_status(folder, rank, {**place, "state": "started"})
    main()


def import_libraries(torch: bool = True) -> None:
    """Import what ranks use, but mpi4py.MPI, whose import starts MPI. torch: whether torch and Horovod are used.

    What is imported stays, so the garbage collector need not look through it again and again, which also would give
    each fork a copy of it.
    """
    import importlib.util

    from course.processes.horovod_setup import is_awaited

    gc.disable()
    for name in (*IMPORTED, *(TORCH if torch else ())):
        importlib.import_module(name)
    # Labs without it work where it is not installed, or not yet.
    if torch and importlib.util.find_spec("horovod") and not is_awaited():
        importlib.import_module("horovod.torch")
    gc.freeze()
    gc.enable()


def node_file(servers: str) -> str:
    """The file that names the socket of this node's fork server. servers: what NODE_SERVERS says."""
    return f"{servers}-{os.environ['SLURMD_NODENAME']}"


def let_forks_end() -> None:
    """Let SIGTERM end what this process forks, as a pool of multiprocessing ends its workers: the engine's own handler
    asks its loop, which they have not. A signal that comes before they have put it away waits."""
    term = [signal.SIGTERM]

    def in_child() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, term)

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, term),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, term),
        after_in_child=in_child,
    )


def request_fork_on_node(name: str, place: ForkRequest) -> socket.socket | None:
    """Ask this node's fork server, whose socket is told in the file `name`, for a process in this one's place.

    Returns the connection, which the process is not to outlive; None: there is no server.
    """
    end = time.monotonic() + NODE_WAIT
    while not os.path.exists(name):
        if time.monotonic() > end:
            return None
        time.sleep(0.02)
    line = socket.socket(socket.AF_UNIX)
    with suppress(OSError), open(name, "rb") as file:
        line.connect(file.read())
        if same_person(line):
            send(line, {**place, "affinity": sorted(os.sched_getaffinity(0))}, [0, 1, 2])
            line.settimeout(WAIT)
            if line.recv(1) == STARTED:
                return line
    line.close()
    return None


def start(folder: str, rank: int, begin: Callable[[], None] = lambda: None) -> int:
    """Fork the rank's process, which calls `begin` first and keeps open what it has open also when it dies."""

    def become(*_: Any) -> None:
        begin()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        share_open_files(die_with_parent)
        become_engine(folder, rank)

    child = os.fork()
    if child == 0:
        run(become, {}, [])
    return child


def attend(folder: str, rank: int, line: socket.socket) -> None:
    """Stay while a node's fork server keeps the rank's process: pass on that it is asked where it stands.

    If the server dies, its processes die with it; that is noted here, as nobody else is left who could.
    """

    def ask(*_: Any) -> None:
        with suppress(OSError):
            line.send(ASKED)

    signal.signal(signal.SIGUSR1, ask)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    line.settimeout(POLL)
    while os.path.isdir(folder):
        try:
            if not line.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    with suppress(FileNotFoundError):
        status = read_status(folder, rank)
        if "code" not in status:
            write_end(folder, rank, status.get("pid", 0), signal.SIGKILL)
    stay(folder, rank, None)


def stay(folder: str, rank: int, child: int | None) -> None:
    """Wait until the ranks' folder is gone; meanwhile note how `child` ends, and pass it on where it is asked about."""
    while os.path.isdir(folder):
        came = signal.sigtimedwait(SIGNALS, POLL)
        if child and came and came.si_signo == signal.SIGUSR1:
            os.kill(child, signal.SIGUSR1)
        if child and (ended := os.waitpid(child, os.WNOHANG))[0]:
            write_end(folder, rank, *ended)
            child = None


def begin_alone() -> None:
    """In a fork that no fork server made: import what there is to import."""
    die_with_parent()
    import_libraries()


def main() -> None:
    """Have the rank's process made, and stay until the world ends or replaces it."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    place = own_place()
    folder, rank = place["folder"], place["rank"]
    if (servers := os.environ.get(NODE_SERVERS)) and (line := request_fork_on_node(node_file(servers), place)):
        attend(folder, rank, line)
    else:
        stay(folder, rank, start(folder, rank, begin_alone))


if __name__ == "__main__":
    main()
