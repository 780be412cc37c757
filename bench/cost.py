"""What a command costs: time, processors and memory, of itself and of all that it starts.

memory      peak, over samples, of the PSS (a page that n processes share counts 1/n to each) of all processes that
            the command started, orphans included.
CPU         what the whole machine did meanwhile, by /proc/stat, less this script's own part. What processes
            inherit from their children misses most ranks: in a killed process namespace nobody asks for it.
            So nothing else may run; the machine is looked at before, and `Usage.busy` tells if it was idle.
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

SAMPLE = 0.5  # seconds between two looks at the memory
LOOK = 2.0  # seconds for which the machine is looked at before
LAST = 5.0  # seconds that processes get to end after the command
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Usage:
    """What a command took, in seconds and bytes. busy: processors in use before. left: processes left behind."""

    wall: float
    cpu: float
    peak: int
    busy: float
    left: int
    code: int


def machine() -> float:
    """Seconds that the machine's processors have worked, less what this process did."""
    times, own = psutil.cpu_times(), psutil.Process().cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq - own.user - own.system


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes; 0 for a process that is gone."""
    with suppress(psutil.NoSuchProcess):
        return process.memory_full_info().pss
    return 0


def bury_orphans(command: int) -> None:
    """Take the exit status of ended processes that fell to us; not of the process `command`, which we started."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.pid != command and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def measured(command: list[str], cwd: Path, env: dict[str, str], log: Path) -> Usage:
    """Run `command` with its output in `log`, and look at all that it starts."""
    before = machine()
    time.sleep(LOOK)
    busy = (machine() - before) / LOOK
    this, peak = psutil.Process(), 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans stay below us, and are counted
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
