"""What a command costs in time, processors and memory, with all processes that it starts.

memory      highest sampled PSS (a page that n processes share counts 1/n for each) of all processes that the command
            started, including orphans.
CPU         CPU time of the whole machine meanwhile, from /proc/stat, less this script's own. Times that processes
            inherit from their children would miss most ranks: when a process namespace is killed, nobody collects them.
            So nothing else may run: `Usage.busy` tells how busy the machine was before.
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
    """What a command took, in seconds and bytes. busy: processors in use before it. left: processes left behind."""

    wall: float
    cpu: float
    peak: int
    busy: float
    left: int
    code: int


def machine() -> float:
    """CPU seconds that the whole machine has spent, except in this process."""
    times, ours = psutil.cpu_times(), psutil.Process().cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq - ours.user - ours.system


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes; 0 for a process that has ended."""
    with suppress(psutil.NoSuchProcess):
        return process.memory_full_info().pss
    return 0


def bury_orphans(command: int) -> None:
    """Reap orphans that this process has inherited, but not the process `command`."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.pid != command and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def measured(command: list[str], cwd: Path, env: dict[str, str], log: Path) -> Usage:
    """Run `command` with its output in `log`, and measure it with all that it starts."""
    before = machine()
    time.sleep(BEFORE)
    busy = (machine() - before) / BEFORE
    this, peak = psutil.Process(), 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become our children, and are counted
    before, began = machine(), time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(SAMPLE)
            break
        peak = max(peak, sum(map(pss, this.children(recursive=True))))
        bury_orphans(process.pid)
    wall, cpu = time.monotonic() - began, machine() - before
    _, left = psutil.wait_procs(this.children(recursive=True), timeout=LAST)
    for child in left:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    return Usage(wall, cpu, peak, busy, len(left), process.returncode)
