"""The grader's side of sandboxes: starts their fork server, requests sandboxes ahead of time, and talks to probers.

What a prober sends is not trusted, as student code may have taken over its process. It is read as JSON of limited size.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from autograde.labs.folder import Lab, beside_students, load_ranks, uses_torch
from autograde.sandbox import bubblewrap
from autograde.sandbox.resources.limits import BEGIN, LATE, Limits
from autograde.sandbox.untrusted import load_evidence
from course.processes import handover, reaper
from course.world.deadline import Deadline

if TYPE_CHECKING:
    from autograde.sandbox.prober import Question
    from autograde.sandbox.supervisor import Request

START_LIMIT = 120.0  # seconds for the fork server and a world to come up, on a slow machine
END_LIMIT = 30.0  # seconds for a supervisor to end everything and to report
ANSWER_LIMIT = 2.0  # seconds for a supervisor to say what its sandbox lost


class Cancelled(Exception):
    """The person who started the grading has stopped it."""


class NoSandbox(Exception):
    """No sandbox could be started, through no fault of a student. Says why."""


class Ended(Exception):
    """A sandbox ended before it answered. `finding`: the key of the limit that it exceeded, if it did."""

    def __init__(self, reason: str, finding: str | None = None) -> None:
        super().__init__(reason)
        self.finding = finding


class TooLate(Exception):
    """No answer in time."""


class Sandboxes:
    """Sandboxes for submissions of one lab, each used once. A context manager, which ends all of them.

    limits: of each. sandboxed: False runs student code unprotected, as the person who grades. expected: how many will
    be needed at least; as many are started in advance, `ahead` at a time. cancel: ends all waiting. Raises
    SandboxRefused if no sandbox can be made, or one has to be.
    """

    def __init__(
        self,
        lab: Lab,
        limits: Limits,
        *,
        sandboxed: bool = True,
        expected: int = 1,
        ahead: int = 1,
        cancel: threading.Event | None = None,
    ) -> None:
        if why := bubblewrap.refusal() if sandboxed else bubblewrap.required():
            raise bubblewrap.SandboxRefused(why)
        self.limits = limits
        self.sandboxed = sandboxed
        self.cancel = cancel or threading.Event()
        self.lab = lab
        self.expected = expected
        self.checks = beside_students(lab.folder)
        self._visible = bubblewrap.visible_paths(self.checks) if sandboxed else []
        self._lock = threading.Lock()
        self._server: subprocess.Popen | None = None
        self._output: IO[bytes] = io.BytesIO()
        self._asked = False  # whether the server was asked for a sandbox
        self.ahead = ahead
        self._ready_ahead: deque[Sandbox] = deque()

    def __enter__(self) -> Sandboxes:
        return self

    def __exit__(self, *error: object) -> None:
        for unused in self._ready_ahead:
            unused.close()
        self._end_server()

    @cached_property
    def ranks(self) -> int:
        """How many ranks each has. Raises LabError if the lab's checks do not load."""
        return load_ranks(self.lab.checks)

    def warm_up(self) -> None:
        """Start the fork server, which takes seconds to import what ranks compute with, before a sandbox is needed."""
        with self._lock, contextlib.suppress(OSError):  # whoever needs a sandbox will get the error
            if self._server is None:
                self._start_server()

    def take(self) -> Sandbox:
        """A new sandbox, which may still be starting. Raises NoSandbox, LabError if the lab's checks do not load."""
        with self._lock:
            taken = self._ready_ahead.popleft() if self._ready_ahead else self._start()
            with contextlib.suppress(NoSandbox):  # whoever needs the next one will get the error
                while self.expected > 0 and len(self._ready_ahead) < self.ahead:
                    self._ready_ahead.append(self._start())
            return taken

    def _start(self) -> Sandbox:
        """Request a sandbox from the fork server, which is started if it does not run."""
        self.expected -= 1
        try:
            if self._server is None or self._server.poll() is not None:
                self._start_server()
            request: Request = {
                "ranks": self.ranks,
                "checks": self.checks,
                "limits": self.limits.plain(),
                "sandbox": bubblewrap.inner(self._visible, self.limits) if self.sandboxed else None,
            }
            channel, prober = socket.socketpair()
            control, supervisor = socket.socketpair()
            with prober, supervisor:
                handover.send(self._requests, request, [prober.fileno(), supervisor.fileno()])
                self._asked = True
        except OSError as error:
            raise NoSandbox(f"no sandbox could be started: {error.strerror or error}{self._last_line()}") from error
        return Sandbox(channel, control, self.limits, self.cancel)

    def _start_server(self) -> None:
        self._end_server()
        self._requests, server_end = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, until the server ends
        etc, fds = bubblewrap.own_etc() if self.sandboxed else ([], [])
        outer = bubblewrap.outer(self._visible, etc) if self.sandboxed else []
        program = (sys.executable, "-P", "-m", "autograde.sandbox.fork_server")
        # Imported once for all submissions. Where a student uses it in another lab, each rank imports it.
        imported = ["torch"] if uses_torch(self.lab, self.checks) else []
        with server_end:
            self._server = subprocess.Popen(
                [*outer, *program, str(server_end.fileno()), *imported],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={**bubblewrap.environment(), reaper.MARK: reaper.UNMARKED},
                pass_fds=[server_end.fileno(), *fds],
                start_new_session=True,
            )
        for fd in fds:
            os.close(fd)

    def _end_server(self) -> None:
        """End the fork server, and with it all supervisors and their sandboxes."""
        if self._server is None:
            return
        self._requests.close()
        try:
            self._server.wait(END_LIMIT if self._asked else 0)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
        self._output.close()
        self._server, self._asked = None, False

    def _last_line(self) -> str:
        """The fork server's last line of output, after a colon."""
        self._output.seek(0)
        lines = [line for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        return f": {lines[-1].strip()[:300]}" if lines else ""


class Sandbox:
    """One sandbox: a prober and its world of ranks, which may still be starting."""

    def __init__(self, channel: socket.socket, control: socket.socket, limits: Limits, cancel: threading.Event) -> None:
        self._channel = channel
        self._control = control
        self._cancel = cancel
        self._limits = limits
        self._pending = self._report = b""
        self.began = 0.0  # when `wait_until_ready` returned, by time.monotonic(); 0: not yet

    def wait_until_ready(self) -> None:
        """Wait until the ranks are up. Raises NoSandbox: no student code has run so far."""
        if self.began:
            return
        try:
            message = self._receive(Deadline(START_LIMIT, lambda: 0.0))
        except TooLate:
            raise NoSandbox(f"the ranks were not ready after {START_LIMIT:g} s") from None
        except Ended as error:
            raise NoSandbox(f"the ranks did not start: {error}") from error
        if message != {"ready": True}:
            raise NoSandbox("the ranks did not start: the process that starts them said something else")
        self.began = time.monotonic()

    def begin(self, seconds: float) -> Deadline:
        """The deadline of all that the prober is asked within so many seconds from now."""
        with contextlib.suppress(OSError):  # it has ended, as `ask` will find out
            self._control.sendall(BEGIN)
        return Deadline(seconds, self._lost)

    def ask(self, question: Question, deadline: Deadline) -> dict:
        """Ask the prober, and return its answer. deadline: of `begin`. Raises TooLate, Ended, Cancelled."""
        self._channel.settimeout(max(0.1, min(10.0, deadline.left())))
        try:
            self._channel.sendall(json.dumps(question).encode() + b"\n")
        except TimeoutError:
            raise TooLate from None
        except OSError:
            raise self._ended() from None
        return self._receive(deadline)

    def close(self) -> None:
        """End the sandbox and everything in it, and wait until it is gone."""
        self._channel.close()
        with contextlib.suppress(OSError), self._control:
            self._control.shutdown(socket.SHUT_WR)  # tells the supervisor, which closes its end when it is done
            self._control.settimeout(END_LIMIT)
            while self._control.recv(2**16):
                pass

    def _receive(self, deadline: Deadline) -> dict:
        """Receive one message from the prober."""
        while b"\n" not in self._pending:
            if self._cancel.is_set():
                raise Cancelled
            if deadline.passed():
                raise TooLate
            if not select.select([self._channel], [], [], 0.2)[0]:
                continue
            try:
                part = self._channel.recv(2**18)
            except OSError:
                part = b""
            if not part:
                raise self._ended()
            self._pending += part
            if len(self._pending) > self._limits.evidence:
                raise Ended("the evidence is too large", "evidence-limit")
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            message: Any = load_evidence(line)
        except ValueError as error:
            raise Ended(f"the process that runs the checks sent what cannot be read: {error}") from error
        if not isinstance(message, dict):
            raise Ended("the process that runs the checks sent a message that is not foreseen")
        return message

    def _lost(self) -> float:
        """Seconds that the sandbox lost to other programs since `begin`, from its supervisor.

        A supervisor that does not even answer has no core itself.
        """
        with contextlib.suppress(OSError, ValueError, LookupError):
            self._control.sendall(LATE)
            if not select.select([self._control], [], [], ANSWER_LIMIT)[0]:
                return math.inf
            answers, _, self._report = self._control.recv(2**16).rpartition(b"\n")
            return float(json.loads(answers.splitlines()[-1])["lost"])
        return 0.0

    def _ended(self) -> Ended:
        """Why the prober has ended, from its supervisor, which is outside the sandbox."""
        report, end = self._report, time.monotonic() + END_LIMIT
        while time.monotonic() < end and not self._cancel.is_set():
            if select.select([self._control], [], [], 0.2)[0]:
                try:
                    part = self._control.recv(2**16)
                except ConnectionResetError:  # it ended before it read all that it was asked
                    break
                report += part
                if not part:
                    break
        if self._cancel.is_set():
            raise Cancelled
        match json.loads(report.rpartition(b"\n")[2] or b"null"):  # behind answers to LATE
            case {"limit": str(key)}:
                return Ended("a limit passed", key)
            case {"failed": str(reason)}:
                return Ended(reason)
            case {"ended": int(status), "output": str(output)}:
                how = f"signal {-status}" if status < 0 else f"status {status}"
                return Ended(f"the process that runs the checks ended with {how}{': ' + output if output else ''}")
        return Ended("the process that runs the checks is gone")
