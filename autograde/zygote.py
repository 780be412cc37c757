"""Imports once what every submission's prober and ranks need, and forks a keeper for each submission.

Importing torch, Horovod and ipyparallel takes two seconds of CPU time; a fork of a process that has them, none. No
student's code runs here, and no secret comes here. It reads requests from a socket until that is closed, and then
ends, and all keepers with it:

    python -P -m autograde.zygote SOCKET       requests of `autograde.sandboxes.Sandboxes`, see `autograde.keeper.keep`
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback

from autograde import keeper
from course import rank

IMPORTED = (
    "IPython.core.inputtransformer2",
    "ipyparallel.cluster",
    "jsonschema",
    "tqdm",
    "course.world",
    "autograde.prober",
)


def receive(requests: socket.socket) -> tuple[dict, list[socket.socket]] | None:
    """One request, and its two sockets: channel and control. None when there will be no more."""
    header, fds, _, _ = socket.recv_fds(requests, 8, 2)
    if not header:
        return None
    size = int.from_bytes(header, "big")
    message = b""
    while len(message) < size and (part := requests.recv(size - len(message))):
        message += part
    return json.loads(message), [socket.socket(fileno=fd) for fd in fds]


def main() -> None:
    """Import, then serve."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    rank.import_libraries()
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # as import_libraries does
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    while request := receive(requests):
        if os.fork() == 0:
            run_keeper(requests, *request)
        for line in request[1]:
            line.close()


def run_keeper(requests: socket.socket, request: dict, lines: list[socket.socket]) -> None:
    """In a fresh fork: be the keeper. Does not return."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.close()
        keeper.keep(request, *lines)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
