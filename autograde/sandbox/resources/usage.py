"""Measures what the processes of a process namespace use, from its /proc: memory, threads, files, processor time."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

PAGE = os.sysconf("SC_PAGE_SIZE")
INODE = 1024  # bytes, about, for a file's name and properties
MAX_FILES = 1024  # open files of one process
USUAL_FILES = 2500  # open files of all processes of a world
SOCKET = 208 * 1024  # bytes; Linux's net.core.wmem_default
TICK = os.sysconf("SC_CLK_TCK")
FLAGS, UTIME, CUTIME, THREADS = 6, 11, 13, 17  # fields of /proc/PID/stat behind the name; see proc(5)
PF_EXITING = 0x4  # include/linux/sched.h


@dataclass(frozen=True)
class Usage:
    """What all processes use together.

    memory: bytes; pages that processes share count for each of them. files: open ones. cpu: seconds, of the processes
    that are alive and of those that have been waited for.
    """

    pids: tuple[int, ...]
    memory: int
    threads: int
    files: int
    cpu: float


def all_pids(proc: str = "/proc") -> list[int]:
    """Ids of all processes in `proc`."""
    return [int(entry) for entry in os.listdir(proc) if entry.isdigit()]


def usage(proc: str = "/proc") -> Usage:
    """What the processes in `proc` use now."""
    pids, memory, threads, files, cpu = [], 0, 0, 0, 0
    for pid in all_pids(proc):
        process = f"{proc}/{pid}"
        with suppress(OSError):  # it ended just now
            fields = stat(process)
            memory += private(process)
            pids.append(pid)
            threads += int(fields[THREADS])
            cpu += sum(map(int, fields[UTIME : CUTIME + 2]))
            files += open_files(process)
    return Usage(tuple(pids), memory, threads, files, cpu / TICK)


def stat(process: str) -> list[bytes]:
    """The fields after the name in the stat file of a process or a thread. Raises OSError."""
    with open(f"{process}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def private(process: str) -> int:
    """Bytes of memory of a process that belong to no file. Raises OSError."""
    with open(f"{process}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * PAGE


def open_files(process: str) -> int:
    """How many files a process has open; if it hides them from us, as many as it may have.

    A process that is being killed hides them too: it belongs to root in its last moments. It
    counts as having none, as it soon will.
    """
    try:
        return len(os.listdir(f"{process}/fd"))
    except PermissionError:
        return 0 if exiting(process) else MAX_FILES


def exiting(process: str) -> bool:
    """Whether all threads of a process are ending."""
    threads = os.listdir(f"{process}/task")
    return all(int(stat(f"{process}/task/{thread}")[FLAGS]) & PF_EXITING for thread in threads)


def in_sockets(files: int) -> int:
    """Bytes that the kernel may hold for so many open files, if all above the usual number are full sockets."""
    return max(0, files - USUAL_FILES) * SOCKET


def proportional(pids: tuple[int, ...], proc: str = "/proc") -> int:
    """Bytes of memory that these processes use, each shared page counted once. Slow: some milliseconds per process.

    If a process hides its shared pages from us, they count in full.
    """
    total = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/smaps_rollup", "rb") as file:
                lines = dict(line.split(b":") for line in file.read().splitlines()[1:])
            total += int(lines[b"Pss_Anon"].split()[0]) * 1024
        except PermissionError:
            with suppress(OSError):
                total += private(f"{proc}/{pid}")
        except OSError:  # it ended just now
            continue
    return total


def in_files(*folders: str) -> int:
    """Bytes that the files of file systems in memory take, with their names."""
    found = [os.statvfs(folder) for folder in folders]
    return sum((each.f_blocks - each.f_bfree) * each.f_frsize + (each.f_files - each.f_ffree) * INODE for each in found)
