"""What the processes of a process namespace use, as seen in its /proc: memory, processes, processor time."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

PAGE = os.sysconf("SC_PAGE_SIZE")
INODE = 1024  # bytes for a file's name and properties, about
MOST_FILES = 1024  # open files of one process
USUAL_FILES = 2500  # of all processes of a world
SOCKET = 208 * 1024  # bytes; Linux's net.core.wmem_default
TICK = os.sysconf("SC_CLK_TCK")
FLAGS, UTIME, CUTIME, THREADS = 6, 11, 13, 17  # fields of /proc/PID/stat behind the name; see proc(5)
PF_EXITING = 0x4  # include/linux/sched.h


@dataclass(frozen=True)
class Usage:
    """memory: bytes, in which pages that processes share count once for each. threads, files: of all processes, files
    open. cpu: seconds, of all processes that are alive, and of all that were waited for."""

    pids: tuple[int, ...]
    memory: int
    threads: int
    files: int
    cpu: float


def usage(proc: str = "/proc") -> Usage:
    """What all processes there use now."""
    pids, memory, threads, files, cpu = [], 0, 0, 0, 0
    for entry in os.listdir(proc):
        if not entry.isdigit():
            continue
        with suppress(OSError):  # it ended just now
            fields = stat(f"{proc}/{entry}")
            memory += private(f"{proc}/{entry}")
            pids.append(int(entry))
            threads += int(fields[THREADS])
            cpu += sum(map(int, fields[UTIME : CUTIME + 2]))
            files += open_files(f"{proc}/{entry}")
    return Usage(tuple(pids), memory, threads, files, cpu / TICK)


def stat(process: str) -> list[bytes]:
    """The fields behind its name in what Linux tells of a process or a thread. Raises OSError."""
    with open(f"{process}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def private(process: str) -> int:
    """Bytes of memory of a process that are in no file. Raises OSError."""
    with open(f"{process}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * PAGE


def open_files(process: str) -> int:
    """How many files a process has open; as many as it may have, where it hides them from us.

    One that is being killed hides them, too: it is root's for its last moments, and holds no file for long.
    """
    try:
        return len(os.listdir(f"{process}/fd"))
    except PermissionError:
        return 0 if exiting(process) else MOST_FILES


def exiting(process: str) -> bool:
    """Whether no thread of a process comes back to its program any more."""
    threads = os.listdir(f"{process}/task")
    return all(int(stat(f"{process}/task/{thread}")[FLAGS]) & PF_EXITING for thread in threads)


def in_sockets(files: int) -> int:
    """Bytes that the kernel may keep for so many open files, should all that are more than usual be full sockets."""
    return max(0, files - USUAL_FILES) * SOCKET


def proportional(pids: tuple[int, ...], proc: str = "/proc") -> int:
    """Bytes of memory that these processes use, each shared page counted once. Slow: some milliseconds for each.

    Of a process that hides them from us, shared pages count whole.
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
    """Bytes that the files of file systems in memory take, and their names."""
    found = [os.statvfs(folder) for folder in folders]
    return sum((one.f_blocks - one.f_bfree) * one.f_frsize + (one.f_files - one.f_ffree) * INODE for one in found)
