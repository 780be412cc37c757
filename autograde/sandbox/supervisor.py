"""Supervises one submission: confines its prober, and ends it when it exceeds a limit or the grader says so.

The supervisor is a fork of the fork server. It stays outside the sandbox's process namespace: nothing in there can see
it or send it a signal, but it sees everything in there. It reports to the grader with one JSON object on the socket
`control`:

    {"ended": status, "output": "..."}    the prober ended by itself; its last line of output
    {"limit": "memory-limit"}             it exceeded a limit, and everything was killed
    {"failed": "..."}                     no sandbox could be made

The grader sends it BEGIN before it asks the prober about a TODO, and LATE where the answer is late, which is answered
with {"lost": seconds}: how long other programs have had the cores since. It ends a supervisor by closing its end.
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
from typing import Any, TypedDict

from autograde.sandbox import prober
from autograde.sandbox.confine import (
    Confinement,
    ConfinementFailed,
    give_up_privileges,
    limit_processes,
    limit_this_process,
    stop_being_root,
)
from autograde.sandbox.resources.limits import BEGIN, LATE, Limits
from autograde.sandbox.resources.usage import all_pids, in_files, in_sockets, proportional, usage
from autograde.sandbox.seccomp import refuse_calls
from course.processes import fork_server, rank
from course.world.deadline import Loss

PERIOD = 0.02  # seconds between two looks at the number of processes
THOROUGH = 5  # every fifth look is at all limits
OUTPUT_KEPT = 4000  # bytes of the prober's output, from its end
THREADS = 16  # for each process that a submission may have
BACKSTOP = 2  # the kernel allows so many times more: it also counts the account's other programs


class Request(TypedDict):
    """What a supervisor is asked for.

    ranks: of the world. checks: files by path, from `beside_students`. limits: of `Limits.plain`. sandbox: the
    command line of bubblewrap; None: no sandbox.
    """

    ranks: int
    checks: dict[str, str]
    limits: dict[str, Any]
    sandbox: list[str] | None


def supervise(request: Request, channel: socket.socket, control: socket.socket) -> None:
    """Supervise one submission. channel: the prober's. control: for the report to the grader."""
    rank.die_with_parent()
    limits = Limits(**request["limits"])
    try:
        with confined(request["sandbox"], limits) if request["sandbox"] else unconfined() as folder:
            report = run_prober(request, limits, channel, control, folder)
    except (ConfinementFailed, OSError) as error:
        report = {"failed": str(error)}
    with contextlib.suppress(OSError):  # the grader has gone, or no longer listens
        control.sendall(json.dumps(report).encode())


@contextlib.contextmanager
def confined(command: list[str], limits: Limits) -> Iterator[str]:
    """In this block, children start in a new sandbox. Yields their folder. At the end, everything in it is gone."""
    stop_being_root()
    limit_processes(BACKSTOP * THREADS * limits.processes)
    sandbox = Confinement(command)
    try:
        sandbox.enter()
        rank.die_with_parent()  # again: the new credentials undid it
        yield "/tmp"
    finally:
        sandbox.end()


@contextlib.contextmanager
def unconfined() -> Iterator[str]:
    """Like `confined`, without a sandbox: yields a folder. The world's reaper ends what the prober leaves behind."""
    folder = tempfile.mkdtemp(prefix="lockstep-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_prober(
    request: Request, limits: Limits, channel: socket.socket, control: socket.socket, folder: str
) -> dict[str, Any]:
    """Start the prober, and wait for its end or bring it about. Returns the report."""
    sandboxed = bool(request["sandbox"])
    inside = all_pids if sandboxed else list
    with tempfile.TemporaryFile(dir=folder) as output:
        child = os.fork()
        if child == 0:
            become_prober(request, limits, channel, output.fileno(), folder)
        channel.close()
        loss = Loss(inside)
        try:
            for look in itertools.count():
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    child = 0
                    output.seek(max(0, output.seek(0, os.SEEK_END) - OUTPUT_KEPT))
                    return {"ended": os.waitstatus_to_exitcode(status), "output": last_line(output.read())}
                if sandboxed and (finding := exceeded_limit(limits, folder, thorough=look % THOROUGH == 0)):
                    return {"limit": finding}
                if select.select([control], [], [], PERIOD)[0]:
                    match control.recv(1):
                        case b"":
                            return {"ended": None, "output": "stopped by the grader"}
                        case message if message == BEGIN:
                            loss = Loss(inside)
                        case message if message == LATE:
                            control.sendall(json.dumps({"lost": loss.seconds()}).encode() + b"\n")
        finally:
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def become_prober(request: Request, limits: Limits, channel: socket.socket, output: int, folder: str) -> None:
    """In a new fork: run the prober, with only its channel and its output open. Does not return."""
    code = 1
    try:
        rank.die_with_parent()
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, channel.fileno())
        os.closerange(channel.fileno() + 1, 2**16)
        if request["sandbox"]:
            give_up_privileges()
            refuse_calls()
            limit_this_process(limits.memory, limits.file, limits.cpu)
        work = f"{folder}/work"
        os.mkdir(work)
        os.chdir(work)
        os.environ.update(HOME=work, TMPDIR=folder)
        tempfile.tempdir = folder
        fork_server.fresh_randomness()
        prober.probe_all(channel, request["ranks"], request["checks"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def exceeded_limit(limits: Limits, folder: str, thorough: bool) -> str | None:
    """The finding for a limit that the processes in the sandbox exceed, if any. thorough: look at all limits."""
    if crowded(limits):
        return "process-limit"
    if not thorough:
        return None
    now = usage()
    if crowded(limits) or now.threads > THREADS * limits.processes:
        return "process-limit"
    if now.cpu > limits.cpu:
        return "cpu-limit"
    elsewhere = in_files(folder, "/dev/shm") + in_sockets(now.files)
    if now.memory + elsewhere > limits.memory:
        exact = elsewhere
        for pid in now.pids:
            if crowded(limits):  # each takes some milliseconds, in which a fork bomb could overtake us
                return "process-limit"
            exact += proportional((pid,))
        if exact > limits.memory:
            return "memory-limit"
    return None


def crowded(limits: Limits) -> bool:
    """Whether there are too many processes in the sandbox."""
    return len(all_pids()) > limits.processes


def last_line(output: bytes) -> str:
    """The last line of what a program printed, shortened."""
    lines = output.decode(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
