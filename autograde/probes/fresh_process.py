"""A function called in a Python that was started by itself: what a student's code does there may differ.

The ranks of a world are forks of one process, so what Python draws once when it starts they have in common: the salt in
the hash of a text, above all. A process that was started by itself has its own, and in this one it is another day, too.

    with FreshProcess(function, *args, salt=7) as fresh:       it starts, and imports what it needs
        ...                                                    meanwhile
        fresh.answer(timeout=20)                               {"result": ..., "error": None}
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course.calls.sent_call import packed, unpacked

REPOSITORY = Path(__file__).resolve().parents[2]
MPI = ("OMPI_", "OPAL_", "PMI", "PRTE_", "SLURM_")  # by these a library would take this process for the rank itself
AHEAD = 40 * 86_400 + 12_345  # seconds that its clock is ahead
HIGHEST_SALT = 2**32 - 1
POLL = 0.5  # seconds between two looks at the time
PR_SET_PDEATHSIG = 1


class FreshProcess:
    """``function(*args)`` in a Python of its own, which ends with this block, or with this process.

    function, args: anything that cloudpickle can send; what the function prints is dropped, and what it returns must be
    plain JSON. salt: of the hashes of texts there, from 1 to HIGHEST_SALT; where this process was given the same one,
    the next is taken.
    """

    def __init__(self, function: Callable, *args: Any, salt: int) -> None:
        call = packed(function, args)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autograde.probes.fresh_process", str(os.getpid())],
            env=environment(salt),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            with self._process.stdin as pipe:
                pipe.write(call)
        except BrokenPipeError:
            pass  # it ended at once, and `answer` tells how
        except BaseException:
            self.__exit__()
            raise
        self._process.stdin = None

    def __enter__(self) -> FreshProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def answer(self, timeout: float) -> dict:
        """``{"result": what the function returned, "error": None}``, or a text as error and None as result.

        timeout: in seconds, from now on, not counting time in which other programs had the cores.
        """
        from course.world.deadline import Deadline, Loss  # not at the top: the new process has no need of a world

        limit = Deadline(timeout, Loss(lambda: [self.pid]).seconds)
        written = None
        while written is None:
            try:
                written, _ = self._process.communicate(timeout=POLL)
            except subprocess.TimeoutExpired:
                if limit.passed():
                    return {"result": None, "error": f"not finished within {timeout:g} s"}
        if not written:
            return {"result": None, "error": f"it ended with status {self._process.returncode}"}
        return json.loads(written)


def environment(salt: int) -> dict[str, str]:
    """The environment of a fresh process: no rank's, with this package, and with a salt that this process has not."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(MPI)}
    if kept.get("PYTHONHASHSEED") == str(salt):
        salt = salt % HIGHEST_SALT + 1
    path = os.pathsep.join(filter(None, [str(REPOSITORY), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "PYTHONHASHSEED": str(salt)}


def call(payload: bytes) -> dict:
    """What `FreshProcess.answer` gives for a pickled function with its arguments."""
    try:
        with unpacked(payload) as (function, args):
            return {"result": function(*args), "error": None}
    except (Exception, SystemExit) as error:
        return {"result": None, "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Read a call from standard input, and write its answer to standard output."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):  # it died before this process could ask to die with it
        return
    payload = sys.stdin.buffer.read()
    nowhere, out = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    set_clock_ahead()
    answer = json.dumps(call(payload)).encode()
    with os.fdopen(out, "wb") as pipe:
        pipe.write(answer)
    os._exit(0)  # nothing that the student's code left behind keeps this process


def set_clock_ahead() -> None:
    """Let Python's clock be AHEAD from now on, in this process."""
    clock, nanoseconds = time.time, time.time_ns
    time.time, time.time_ns = lambda: clock() + AHEAD, lambda: nanoseconds() + AHEAD * 10**9


if __name__ == "__main__":
    main()
