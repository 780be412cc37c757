"""Import once, fork each: a process that has imported what many need, and becomes each of them in a fork.

A request is a JSON object together with open files of whoever sends it (`course.processes.handover.send`); the fork has
both.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterable

Request = tuple[dict, list[int]]  # the object, and the files as descriptors of the process that received it
ENDS = {signal.SIGCHLD}


def same_person(line: socket.socket) -> bool:
    """Whether who is at the other end of a Unix socket is who runs this process."""
    user = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[1]
    return user == os.getuid()


def receive(line: socket.socket, most: int) -> Request | None:
    """The next request, with at most `most` files. None: there will be no more."""
    header, files, _, _ = socket.recv_fds(line, 8, most)
    if not header:
        return None
    length = int.from_bytes(header, "big")
    message = b""
    while len(message) < length and (part := line.recv(length - len(message))):
        message += part
    return json.loads(message), list(files)


def serve(
    requests: Iterable[Request],
    listening: socket.socket,
    become: Callable[[dict, list[int]], None],
    started: Callable[[int, dict], None] = lambda pid, request: None,
) -> None:
    """Fork a process for each request, which calls ``become(request, files)`` and ends when that returns.

    listening: where requests come from; forks have it closed. started: is told the process id of each fork, before
    SIGCHLD can tell of its end.
    """
    for request, files in requests:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        pid = os.fork()
        if pid == 0:
            listening.close()
            run(become, request, files)
        started(pid, request)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        for file in files:
            os.close(file)


def run(become: Callable[[dict, list[int]], None], request: dict, files: list[int]) -> None:
    """In a fresh fork: call ``become(request, files)``, and end. Does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        become(request, files)
        code = 0
    except Exception:
        import traceback  # not at the top: a program that only sends need not wait for it

        traceback.print_exc()
    finally:
        os._exit(code)


def fresh_randomness() -> None:
    """Give this fork its own random numbers where the library seeds itself from the system."""
    import random

    import numpy

    random.seed()
    numpy.random.seed()
