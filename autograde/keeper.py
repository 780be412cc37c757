"""Watches over one submission: puts its prober into a jail, and ends both when a limit passes or the grader says so.

The keeper is a fork of the zygote. It stands outside of the jail's process namespace, so nothing in there can see it or
send it a signal, but it sees all in there. What it tells the grader, one JSON object on the socket `control`:

    {"ended": status, "said": "..."}      the prober ended by itself; the last of what it printed
    {"limit": "memory-limit"}             a limit passed; everything was killed
    {"failed": "..."}                     there is no jail

The grader ends a keeper by closing its end of the socket.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any

from autograde import prober
from autograde.jail import Jail, JailFailed, give_up_privileges, limit_processes, limit_this_process, stop_being_root
from autograde.seccomp import refuse_calls
from autograde.usage import in_files, in_sockets, proportional, usage
from course import nursery, rank

PERIOD = 0.02  # seconds between two looks at the number of processes
THOROUGH = 5  # each so many looks, one at everything
LAST_WORDS = 4000  # bytes of the prober's output
THREADS = 16  # for each process that a submission may have
BACKSTOP = 2  # times as many the kernel allows: it counts those of the account's other programs, too


def keep(request: dict, channel: socket.socket, control: socket.socket) -> None:
    """Look after one submission. request: "ranks", "checks", "limits", and "jail", bwrap's command line or None."""
    rank.die_with_parent()
    try:
        with jail(request["jail"], request["limits"]) if request["jail"] else no_jail() as folder:
            report = watched(request, channel, control, folder)
    except (JailFailed, OSError) as error:
        report = {"failed": str(error)}
    with contextlib.suppress(OSError):  # the grader is gone, or does not listen any more
        control.sendall(json.dumps(report).encode())


@contextlib.contextmanager
def jail(command: list[str], limits: dict) -> Iterator[str]:
    """In this block, children are born in a new jail. Yields their folder. At its end, nothing of them is left."""
    stop_being_root()
    limit_processes(BACKSTOP * THREADS * limits["processes"])
    inside = Jail(command)
    try:
        inside.enter()
        rank.die_with_parent()  # once more: new credentials undid it
        yield "/tmp"
    finally:
        inside.end()


@contextlib.contextmanager
def no_jail() -> Iterator[str]:
    """The same without a jail: a folder. Of what is left of the prober, the world's reaper takes care."""
    folder = tempfile.mkdtemp(prefix="lockstep-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watched(request: dict, channel: socket.socket, control: socket.socket, folder: str) -> dict[str, Any]:
    """Start the prober and wait for its end, which may be of our making. Returns what to report."""
    limits, jailed = request["limits"], bool(request["jail"])
    with tempfile.TemporaryFile(dir=folder) as output:
        child = os.fork()
        if child == 0:
            become_prober(request, channel, output.fileno(), folder)
        channel.close()
        try:
            for look in itertools.count():
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    child = 0
                    output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_WORDS))
                    return {"ended": os.waitstatus_to_exitcode(status), "said": last_line(output.read())}
                if jailed and (beyond := limit_passed(limits, folder, thorough=look % THOROUGH == 0)):
                    return {"limit": beyond}
                if select.select([control], [], [], PERIOD)[0]:
                    return {"ended": None, "said": "stopped by the grader"}
        finally:
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def become_prober(request: dict, channel: socket.socket, output: int, folder: str) -> None:
    """In a fresh fork: run the prober, with nothing but its channel and its output open. Does not return."""
    code = 1
    try:
        rank.die_with_parent()
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, channel.fileno())
        os.closerange(channel.fileno() + 1, 2**16)
        if request["jail"]:
            give_up_privileges()
            refuse_calls()
            limits = request["limits"]
            limit_this_process(limits["memory"], limits["file"], limits["cpu"])
        work = f"{folder}/work"
        os.mkdir(work)
        os.chdir(work)
        os.environ.update(HOME=work, TMPDIR=folder)
        tempfile.tempdir = folder
        nursery.fresh_randomness()
        prober.probe_all(channel, request["ranks"], request["checks"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def limit_passed(limits: dict, folder: str, thorough: bool) -> str | None:
    """The finding for the first limit that the processes in the jail have passed, if any."""
    if crowded(limits):
        return "process-limit"
    if not thorough:
        return None
    now = usage()
    if crowded(limits) or now.threads > THREADS * limits["processes"]:
        return "process-limit"
    if now.cpu > limits["cpu"]:
        return "cpu-limit"
    besides = in_files(folder, "/dev/shm") + in_sockets(now.files)
    if now.memory + besides > limits["memory"]:
        exact = besides
        for pid in now.pids:
            if crowded(limits):  # each takes some milliseconds: time for a fork bomb to leave us none
                return "process-limit"
            exact += proportional((pid,))
        if exact > limits["memory"]:
            return "memory-limit"
    return None


def crowded(limits: dict) -> bool:
    """Whether there are more processes in the jail than there may be."""
    return sum(entry.isdigit() for entry in os.listdir("/proc")) > limits["processes"]


def last_line(output: bytes) -> str:
    """The last line of what a program printed, shortened."""
    lines = output.decode(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
