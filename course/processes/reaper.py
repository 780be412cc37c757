"""Ends every process of a world when the program that made it is gone, however it went.

A world's processes carry a mark in their environment. The reaper waits on a pipe whose other end only the owner holds;
when the owner closes it, or dies, even by SIGKILL, the reaper kills all that carry the mark and removes the world's
folders. It imports little, so that it starts fast and stays small.

    python reaper.py MARK [--cancel=NAME] FOLDER...        reads standard input until its end

--cancel: also cancel this person's Slurm jobs of that name.

A process that was forked, not started, has the environment of its ancestor in /proc; `mark_this_process` changes it.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time

MARK = "LOCKSTEP_WORLD"
UNMARKED = "-" * 48  # what an ancestor of forked ranks must be started with: room for a mark


def marked(mark: str, spared: int | None = None) -> list[int]:
    """Ids of the processes whose environment holds ``LOCKSTEP_WORLD=<mark>...``, but for this one and `spared`."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in (os.getpid(), spared):
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{entry}/stat", "rb") as file:
                state = file.read().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if state not in (b"Z", b"X") and any(item.startswith(wanted) for item in environment.split(b"\0")):
            found.append(int(entry))
    return found


def kill_marked(mark: str, spared: int | None = None, timeout: float = 8.0) -> list[int]:
    """Kill all processes that carry `mark` but `spared`; return those alive after `timeout` seconds (none, normally).

    A process may be forking while it is looked for, so the search is repeated until it finds nothing.
    """
    end = time.monotonic() + timeout
    while (alive := marked(mark, spared)) and time.monotonic() < end:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.02)
    return alive


def mark_this_process(mark: str) -> None:
    """Write `mark` over the UNMARKED that this process was started with, so that others see it, and on future forks.

    Raises ValueError if there is no room for it.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    place = libc.getenv(MARK.encode())
    if not place or len(ctypes.string_at(place)) < len(mark):
        raise ValueError(f"This process was started without room for {MARK}.")
    ctypes.memmove(place, mark.encode(), len(mark))


def cancel(name: str) -> None:
    """Cancel this person's Slurm jobs by name, patiently: what is not cancelled may hold a cluster's nodes for days."""
    if not shutil.which("scancel"):  # so no job was asked for
        return
    # This file is run by its path, so that it needs no package: what lies beside it is found by name alone.
    from slurm_command import SlurmError, called

    for attempt in range(4):
        time.sleep(attempt)
        try:
            if called("scancel", "--quiet", f"--name={name}", f"--user={os.getuid()}").returncode == 0:
                return
        except (SlurmError, OSError):
            continue


def main() -> None:
    """Wait for the end of standard input, then clean up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mark, *folders = sys.argv[1:]
    job = folders.pop(0).removeprefix("--cancel=") if folders[0].startswith("--cancel=") else None
    while os.read(0, 1):
        pass
    if job:
        cancel(job)
    kill_marked(mark)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
