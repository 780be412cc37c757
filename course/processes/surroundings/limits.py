"""Limits of processes: those of a login shell (`ulimit`), below which ranks do not start, and the memory of a rank."""

from __future__ import annotations

import resource
import shutil
from contextlib import suppress
from pathlib import Path

import psutil

FILES = 4096  # that may be open: sockets of the controller, and of its client; JupyterLab raises it to the same
LEAST_FILES = 256
LEAST_MEMORY = 8 * 2**30  # bytes of address space: torch alone reserves some GiB
LEAST_PROCESSES = 512  # threads count
LEAST_SHARE = 2**29  # bytes that a rank may take in any case


def raise_open_files() -> None:
    """Let this process, and those that it starts, have as many open files as a world may need, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def low_limits() -> dict[str, str]:
    """Limits that are too low for a world: the option of `ulimit`, and what it allows."""
    least = {
        "n": (resource.RLIMIT_NOFILE, LEAST_FILES, "open files", 1),
        "v": (resource.RLIMIT_AS, LEAST_MEMORY, "KiB of address space", 1024),
        "u": (resource.RLIMIT_NPROC, LEAST_PROCESSES, "processes and threads", 1),
        "f": (resource.RLIMIT_FSIZE, 2**20, "KiB in a file", 1024),
    }
    found = {}
    for option, (limit, needed, what, unit) in least.items():
        soft, hard = resource.getrlimit(limit)
        allowed = hard if option == "n" else soft  # which a world raises itself
        if allowed != resource.RLIM_INFINITY and allowed < needed:
            found[option] = f"{allowed // unit} {what}, and {needed // unit} are needed"
    return found


def share_of_memory(ranks: int) -> int | None:
    """Bytes that each of `ranks` on this machine may take, so that all of them together leave some to others.

    None: no limit of ours, where another one holds, as in the grader's sandbox, or where there are GPUs, whose driver
    maps far more than it uses.
    """
    if resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY or shutil.which("nvidia-smi"):
        return None
    return max(LEAST_SHARE, psutil.virtual_memory().available * 3 // 4 // ranks)


def limit_memory(share: int) -> None:
    """Let this process take `share` bytes more than it has: then Python raises MemoryError, and torch RuntimeError."""
    status = Path("/proc/self/status").read_text()
    (has,) = (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData:"))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (has + share, hard))
