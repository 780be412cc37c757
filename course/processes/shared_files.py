"""Keeps the files and sockets of a rank open after its death, until the world replaces its ranks.

Slurm's PMIx server has all ranks killed when its connection to one of them closes, and Open MPI's ranks abort when a
TCP connection between them does. Then nobody could tell how the first one died, and where the others stood.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable

CLONE = {"x86_64": 56, "aarch64": 220}  # number of the system call; glibc offers it only on another stack
CLONE_FILES, CLONE_PARENT = 0x400, 0x8000


def share_open_files(begin: Callable[[], None]) -> None:
    """Start a process that shares this one's table of open files, now and later: see CLONE_FILES in clone(2).

    It is a child of this process's parent, calls `begin` and then does nothing; only SIGKILL ends it. This process must
    have a single thread. Does nothing on machines that CLONE does not list. Raises OSError.
    """
    number = CLONE.get(platform.machine())
    if number is None:
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    libc = ctypes.PyDLL(None, use_errno=True)  # PyDLL keeps the interpreter's lock, so the new process holds it, too
    pid = libc.syscall(*map(ctypes.c_long, (number, CLONE_FILES | CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)))
    if pid == 0:
        begin()
        while True:
            signal.pause()
    signal.pthread_sigmask(signal.SIG_SETMASK, former)
    if pid < 0:
        raise OSError(ctypes.get_errno(), f"clone: {os.strerror(ctypes.get_errno())}")
