"""Limits of processes: those of a login shell (`ulimit`), below which ranks do not start, and the memory of a rank."""

from __future__ import annotations

import resource
import shutil
from contextlib import suppress
from pathlib import Path

from course.processes.surroundings import machine

FILES = 4096  # that may be open: sockets of the controller, and of its client; JupyterLab raises it to the same
LEAST_FILES = 256
LEAST_MEMORY = 8 * 2**30  # bytes of address space: torch alone reserves some GiB
LEAST_PROCESSES = 512  # threads count
# Measured: processes and threads of a world, and of each rank, where a rank has one core.
WORLD_PROCESSES, RANK_PROCESSES = 24, 12
# Measured: bytes of a world before anything is computed, its fork server's and controller's, and of each rank.
WORLD_MEMORY, RANK_MEMORY = 280 * 2**20, 45 * 2**20
MORE_PROCESSES = "End the kernels of other notebooks, or have that limit raised (Docker: `--pids-limit`)."
MORE_MEMORY = "End the kernels of other notebooks, or have more memory given (Docker: `--memory`)."
# Bytes of address space that a rank may take in any case. Threads of gloo, and Horovod's buffer, reserve 170 MiB of it,
# and use 10: without them no lab runs.
LEAST_SHARE = 2**28


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


def few_processes(ranks: int) -> str:
    """That there may not be as many processes and threads as so many ranks take, in a sentence; empty if there may."""
    needed = WORLD_PROCESSES + RANK_PROCESSES * ranks
    may = machine.processes()
    if may is None or may.left >= needed:
        return ""
    return (
        f"Only {may.left} of the {may.total} processes and threads that all in this container, job or session may have "
        f"are left ({may.group}/pids.max), and {ranks} ranks take {needed}."
    )


def memory_for(ranks: int) -> int:
    """Bytes without which so many ranks do not even start."""
    return WORLD_MEMORY + RANK_MEMORY * ranks


def low_memory(ranks: int) -> str:
    """That there is not the memory in which so many ranks start, in a sentence; empty if there is."""
    have, needed = machine.memory(), memory_for(ranks)
    if have.available >= needed:
        return ""
    where = f" that all in this container, job or session may have ({have.group})" if have.group else " of memory here"
    left, total, least = (machine.in_words(size) for size in (have.available, have.total, needed))
    return f"Only {left} of the {total}{where} are left, and {ranks} ranks take {least} before they compute anything."


def share_of_memory(ranks: int) -> int | None:
    """Bytes that each of `ranks` that are to be started here may take, so that all together leave some to others.

    They share three quarters of what is left once they have started. Where that is less than LEAST_SHARE each, there is
    not enough for all at once: who takes too much may be killed, and their world tells so. None: no limit of ours,
    where another one holds, as in the grader's sandbox, or where there are GPUs, whose driver maps far more than it
    uses.
    """
    if resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY or shutil.which("nvidia-smi"):
        return None
    left = machine.memory().available - memory_for(ranks)
    return max(LEAST_SHARE, left * 3 // 4 // ranks)


def be_killed_first() -> None:
    """Have Linux kill this process before others if no memory is left: a rank can be replaced, a notebook's kernel not.

    See proc(5), oom_score_adj. Whoever is to be killed first already stays so.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit_memory(share: int) -> None:
    """Let this process take `share` bytes more than it has: then Python raises MemoryError, and torch RuntimeError."""
    status = Path("/proc/self/status").read_text()
    (has,) = (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData:"))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (has + share, hard))
