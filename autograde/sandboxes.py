"""The grader's end of sandboxes: starts the zygote, asks it for sandboxes ahead of time, and talks to their probers.

What comes back was said by a process that student code may have taken over. It is read as JSON of limited size, and
means nothing before a verdict.
"""

from __future__ import annotations

import contextlib
import io
import json
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
from typing import IO, Any

from autograde import sandbox
from autograde.build import without_hidden_cases
from autograde.labs import Lab, load_ranks
from autograde.limits import Limits
from autograde.probe_only import probe_only
from autograde.schema import load_evidence
from course import reaper

START_LIMIT = 120.0  # seconds for the zygote and a world to come up, on a slow machine
LAST_BREATH = 30.0  # seconds for a keeper to end everything, and to report


class Cancelled(Exception):
    """The grading was stopped by the person who started it."""


class OurSide(Exception):
    """A sandbox could not be had: nothing that a student did. Says why."""


class Ended(Exception):
    """A sandbox came to its end while it was asked something. `finding`: key of the limit that passed, if one did."""

    def __init__(self, reason: str, finding: str | None = None) -> None:
        super().__init__(reason)
        self.finding = finding


class Late(Exception):
    """No answer in time."""


class Sandboxes:
    """Sandboxes for submissions of one lab, each used once. A context manager; at its end, nothing is left of them.

    limits: of each. sandboxed: False runs student code unprotected, as the person who grades. expected: how many will
    be needed, at least; so many are started before they are, `ahead` of them at any time. cancel: ends all waiting.
    Raises SandboxRefused if student code is to be sandboxed, and cannot be; LabError if the checks do not load.
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
        if sandboxed and (why := sandbox.refusal()):
            raise sandbox.SandboxRefused(why)
        self.limits = limits
        self.sandboxed = sandboxed
        self.cancel = cancel or threading.Event()
        self.ranks = load_ranks(lab.checks)
        self.checks = probe_only(
            without_hidden_cases(lab.checks.read_text(encoding="utf-8"), str(lab.checks)), lab.name
        )
        self._seen = sandbox.paths(self.checks) if sandboxed else []
        self._lock = threading.Lock()
        self._zygote: subprocess.Popen | None = None
        self._output: IO[bytes] = io.BytesIO()
        self._expected = expected
        self._ahead = ahead
        self._ready_ahead: deque[Sandbox] = deque()

    def __enter__(self) -> Sandboxes:
        return self

    def __exit__(self, *error: object) -> None:
        for unused in self._ready_ahead:
            unused.close()
        self._end_zygote()

    def take(self) -> Sandbox:
        """A fresh sandbox, which may still be starting. Raises OurSide."""
        with self._lock:
            taken = self._ready_ahead.popleft() if self._ready_ahead else self._start()
            with contextlib.suppress(OurSide):  # whoever needs the next one will hear it
                while self._expected > 0 and len(self._ready_ahead) < self._ahead:
                    self._ready_ahead.append(self._start())
            return taken

    def _start(self) -> Sandbox:
        """Ask the zygote for a sandbox, and start the zygote first if there is none."""
        self._expected -= 1
        try:
            if self._zygote is None or self._zygote.poll() is not None:
                self._start_zygote()
            request = {"ranks": self.ranks, "checks": self.checks, "limits": self.limits.plain(), "jail": None}
            if self.sandboxed:
                request["jail"] = sandbox.inner(self._seen, self.limits)
            channel, prober = socket.socketpair()
            control, keeper = socket.socketpair()
            with prober, keeper:
                message = json.dumps(request).encode()
                fds = [prober.fileno(), keeper.fileno()]
                socket.send_fds(self._requests, [len(message).to_bytes(8, "big")], fds)
                self._requests.sendall(message)
        except OSError as error:
            raise OurSide(
                f"no sandbox could be started: {error.strerror or error}{self._zygotes_last_words()}"
            ) from error
        return Sandbox(channel, control, self.limits, self.cancel)

    def _start_zygote(self) -> None:
        self._end_zygote()
        self._requests, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, until the zygote ends
        etc, fds = sandbox.own_etc() if self.sandboxed else ([], [])
        jail = sandbox.outer(self._seen, etc) if self.sandboxed else []
        with theirs:
            self._zygote = subprocess.Popen(
                [*jail, sys.executable, "-P", "-m", "autograde.zygote", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={**sandbox.environment(), reaper.MARK: reaper.UNMARKED},
                pass_fds=[theirs.fileno(), *fds],
                start_new_session=True,
            )
        for fd in fds:
            os.close(fd)

    def _end_zygote(self) -> None:
        """End it, and so all keepers and their sandboxes."""
        if self._zygote is None:
            return
        self._requests.close()
        try:
            self._zygote.wait(LAST_BREATH)
        except subprocess.TimeoutExpired:
            os.killpg(self._zygote.pid, signal.SIGKILL)
            self._zygote.wait()
        self._output.close()
        self._zygote = None

    def _zygotes_last_words(self) -> str:
        """What the zygote said last, after a colon."""
        self._output.seek(0)
        lines = [line for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        return f": {lines[-1].strip()[:300]}" if lines else ""


class Sandbox:
    """One sandbox: a prober and the world of ranks that it started, or is starting."""

    def __init__(self, channel: socket.socket, control: socket.socket, limits: Limits, cancel: threading.Event) -> None:
        self._channel = channel
        self._control = control
        self._cancel = cancel
        self._limits = limits
        self._pending = b""
        self.began = 0.0  # when the ranks were first waited for, and ready, by time.monotonic()

    def wait_until_ready(self) -> None:
        """Return when the ranks are up. Raises OurSide: no student's code has run so far."""
        if self.began:
            return
        try:
            message = self._receive(time.monotonic() + START_LIMIT)
        except Late:
            raise OurSide(f"the ranks were not ready after {START_LIMIT:g} s") from None
        except Ended as error:
            raise OurSide(f"the ranks did not start: {error}") from error
        if message != {"ready": True}:
            raise OurSide("the ranks did not start: the process that starts them said something else")
        self.began = time.monotonic()

    def ask(self, question: dict, end: float) -> dict:
        """The answer to a question, an object whose names are strings. end: until when, by time.monotonic().

        Raises Late, Ended, Cancelled.
        """
        self._channel.settimeout(max(0.1, min(10.0, end - time.monotonic())))
        try:
            self._channel.sendall(json.dumps(question).encode() + b"\n")
        except TimeoutError:
            raise Late from None
        except OSError:
            raise self._ended() from None
        return self._receive(end)

    def close(self) -> None:
        """End the sandbox and everything in it, and wait for that."""
        self._channel.close()
        with contextlib.suppress(OSError), self._control:
            self._control.shutdown(socket.SHUT_WR)  # tells the keeper; it closes its end when all is done
            self._control.settimeout(LAST_BREATH)
            while self._control.recv(2**16):
                pass

    def _receive(self, end: float) -> dict:
        """One message from the prober."""
        while b"\n" not in self._pending:
            if self._cancel.is_set():
                raise Cancelled
            if time.monotonic() > end:
                raise Late
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

    def _ended(self) -> Ended:
        """Why the prober says no more, by its keeper, who is not in the sandbox."""
        report, end = b"", time.monotonic() + LAST_BREATH
        while time.monotonic() < end and not self._cancel.is_set():
            if select.select([self._control], [], [], 0.2)[0]:
                part = self._control.recv(2**16)
                report += part
                if not part:
                    break
        if self._cancel.is_set():
            raise Cancelled
        match json.loads(report or b"null"):
            case {"limit": str(key)}:
                return Ended("a limit passed", key)
            case {"failed": str(reason)}:
                return Ended(reason)
            case {"ended": int(status), "said": str(said)}:
                how = f"signal {-status}" if status < 0 else f"status {status}"
                return Ended(f"the process that runs the checks ended with {how}{': ' + said if said else ''}")
        return Ended("the process that runs the checks is gone")
