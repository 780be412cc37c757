"""Moves a process into the namespaces of a running bubblewrap, and drops its privileges.

bubblewrap can only start a program. What is to run here is a fork of a process that has imported everything, so it
follows bubblewrap's own child into its namespaces; see setns(2), capabilities(7) and bwrap(1).

    python -P -m autograde.sandbox.confine COMMAND...      runs a command under the account that student code gets
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import subprocess
import sys
from pathlib import Path

from autograde.sandbox.resources.usage import MAX_FILES

# In any order: one call of setns enters all, the user namespace first, which gives the right to enter the others.
NAMESPACES = {
    "user": 0x10000000,
    "mnt": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 4, 38, 24
CAPABILITY_VERSION_3 = 0x20080522
NOBODY = 65534
END_LIMIT = 20.0  # seconds, in which the kernel can end thousands of processes
NICENESS = 5  # so that the grader and its supervisors come first on a busy machine


class ConfinementFailed(Exception):
    """bubblewrap did not start, or its namespaces cannot be entered. Says why."""


class Confinement:
    """A sandbox with nothing but a sleeping program in it.

    command: bwrap's command line without the program, and without ``--info-fd``. Raises ConfinementFailed.
    """

    def __init__(self, command: list[str]) -> None:
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [*command, "--info-fd", str(writing), "--", "sh", "-c", "echo inside && exec sleep infinity"],
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(writing)
        with os.fdopen(reading) as info:
            about = info.read()
        # Wait for its program: by then bubblewrap has made the last user namespace, which nothing can leave.
        if self.process.stdout.readline() != "inside\n":
            self.process.kill()
            errors = " ".join(self.process.communicate()[1].split())[-500:]
            raise ConfinementFailed(f"bubblewrap did not start: {errors or 'it said nothing'}")
        self.member = os.pidfd_open(json.loads(about)["child-pid"])

    def enter(self) -> None:
        """Move this process in. Only children that it forks from now on join the process namespace."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(self.member, sum(NAMESPACES.values())):
            raise ConfinementFailed(f"setns: {os.strerror(ctypes.get_errno())}")

    def end(self) -> None:
        """Kill everything in it, and wait until nothing is left: its files go with its last process."""
        self.process.kill()  # and with it its child, process 1 of the namespace, which ends last of all
        self.process.wait()
        select.select([self.member], [], [], END_LIMIT)


def stop_being_root() -> None:
    """Switch from root to an account that owns nothing: limits on numbers of processes do not bind root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # A process that has changed its account is hidden from others of this account, and so are its children. The
        # supervisor must see them.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def give_up_privileges() -> None:
    """Drop all capabilities for good, and keep programs from granting any."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails beyond the last that the kernel knows
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) or libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise ConfinementFailed(f"capabilities cannot be dropped: {os.strerror(ctypes.get_errno())}")


def limit_processes(most: int) -> None:
    """Let the kernel allow at most `most` processes and threads in sandboxes that are made from now on."""
    set_limit(resource.RLIMIT_NPROC, most)


def limit_this_process(memory: int, file: int, cpu: float) -> None:
    """Set the kernel's limits for this process and each of its children: a first line of defence."""
    os.nice(NICENESS)
    # If the machine runs out of memory, kill these first, and not the grader.
    Path("/proc/self/oom_score_adj").write_text("1000")
    for what, limit in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_CPU, int(cpu) + 1),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MAX_FILES),
        (resource.RLIMIT_MEMLOCK, 64 * 2**20),
    ):
        set_limit(what, limit)


def set_limit(what: int, limit: int) -> None:
    """Set a limit of this process and its children for good; one that is lower stays."""
    _, hard = resource.getrlimit(what)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (limit, limit))


if __name__ == "__main__":
    stop_being_root()
    os.execvp(sys.argv[1], sys.argv[1:])
