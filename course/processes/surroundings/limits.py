"""Limits that a login shell sets (`ulimit`), below which ranks do not start."""

from __future__ import annotations

import resource
from contextlib import suppress

FILES = 4096  # that may be open: sockets of the controller, and of its client; JupyterLab raises it to the same
LEAST_FILES = 256
LEAST_MEMORY = 8 * 2**30  # bytes of address space: torch alone reserves some GiB
LEAST_PROCESSES = 512  # threads count


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
