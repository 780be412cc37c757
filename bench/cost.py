"""What a command costs in time, processors and memory, with all processes that it starts.

memory      highest sampled PSS (a page that n processes share counts 1/n for each) of all processes that the command
            started, including orphans.
CPU         CPU time of the whole machine meanwhile, from /proc/stat, less this script's own. Times that processes
            inherit from their children would miss most ranks: when a process namespace is killed, nobody collects them.
            So nothing else may run: `Usage.busy` tells how busy the machine was before.
own CPU     CPU time of the command's processes, as last sampled. It may be measured beside other programs, and misses
            what each process does in its last half second.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE = 0.5  # seconds between two samples of the memory
BEFORE = 2.0  # seconds for which the machine is observed before the command
LAST = 5.0  # seconds that processes have to end after the command
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Usage:
    """What a command took, in seconds and bytes. busy: processors in use before it. left: processes left behind.

    own: CPU seconds of its own processes alone.
    """

    wall: float
    cpu: float
    peak: int
    busy: float
    left: int
    code: int
    own: float


def machine() -> float:
    """CPU seconds that the whole machine has spent, except in this process."""
    times, ours = psutil.cpu_times(), psutil.Process().cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq - ours.user - ours.system


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes; 0 for a process that has ended."""
    with suppress(psutil.NoSuchProcess):
        return process.memory_full_info().pss
    return 0


def cpu(process: psutil.Process) -> tuple[int, float] | None:
    """The process's number and the CPU seconds of itself alone; None if it has ended."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return process.pid, times.user + times.system
    return None


def bury_orphans(command: int) -> None:
    """Reap orphans that this process has inherited, but not the process `command`."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.pid != command and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def measured(command: list[str], cwd: Path, env: dict[str, str], log: Path, watch: float = BEFORE) -> Usage:
    """Run `command` with its output in `log`, and measure it with all that it starts.

    watch: seconds for which the machine is observed before; 0: not at all.
    """
    before = machine()
    time.sleep(watch)
    busy = (machine() - before) / watch if watch else 0.0
    this, peak, own = psutil.Process(), 0, {}
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become our children, and are counted
    before, began = machine(), time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(SAMPLE)
            break
        running = this.children(recursive=True)
        peak = max(peak, sum(map(pss, running)))
        own |= dict(filter(None, map(cpu, running)))
        bury_orphans(process.pid)
    wall, spent = time.monotonic() - began, machine() - before
    _, left = psutil.wait_procs(this.children(recursive=True), timeout=LAST)
    for child in left:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    return Usage(wall, spent, peak, busy, len(left), process.returncode, sum(own.values()))
