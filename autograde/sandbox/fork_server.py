"""The fork server of sandboxes: imports what every prober and its ranks need, and forks a supervisor for each sandbox.

Importing ipyparallel takes a second of CPU time, torch and Horovod, for labs that use them, three or four; forking a
process that has imported them takes none. No student code runs here, and no secret comes here. The server reads
requests from a socket; when that is closed, it ends, and all supervisors with it:

    python -P -m autograde.sandbox.fork_server SOCKET [torch]       requests of `autograde.sandbox.pool.Sandboxes`, see
    `autograde.sandbox.supervisor.supervise`
"""

from __future__ import annotations

import gc
import importlib
import signal
import socket
import sys
from collections.abc import Iterator

from autograde.sandbox import supervisor
from course.processes import fork_server, rank

SOCKETS = 2  # with each request: channel and control
IMPORTED = (
    "IPython.core.inputtransformer2",
    "ipyparallel.cluster",
    "jsonschema",
    "tqdm",
    "course.processes.launchers.forked_controller",
    "course.world.world",
    "autograde.sandbox.prober",
)


def requests_on(line: socket.socket) -> Iterator[fork_server.Request]:
    """Requests from a socket, until it is closed."""
    while request := fork_server.receive(line, SOCKETS):
        yield request


def main() -> None:
    """Import, then serve requests."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    rank.import_libraries(torch="torch" in sys.argv[2:])
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # as import_libraries does
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors
    fork_server.serve(requests_on(line), line, become_supervisor)


def become_supervisor(request: supervisor.Request, sockets: list[int]) -> None:
    """In a new fork: supervise one submission."""
    supervisor.supervise(request, *(socket.socket(fileno=descriptor) for descriptor in sockets))


if __name__ == "__main__":
    main()
