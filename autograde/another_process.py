"""A function called in a second Python, for probes that ask what a student's code does in another process.

The ranks of a world are forks of one process, so what Python draws once when it starts they have in common: the salt in
the hash of a text, above all. A process that was started by itself has its own, and in this one it is another day, too.

    with AnotherProcess(function, *args, salt=7) as other:     it starts, and imports what it needs
        ...                                                    meanwhile
        other.answer(timeout=20)                               {"result": ..., "error": None}
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

REPOSITORY = Path(__file__).resolve().parents[1]
MPI = ("OMPI_", "OPAL_", "PMI", "PRTE_", "SLURM_")  # by these a library would take this process for the rank itself
AHEAD = 40 * 86_400 + 12_345  # seconds that its clock is ahead
PR_SET_PDEATHSIG = 1


class AnotherProcess:
    """``function(*args)`` in a Python of its own, which ends with this block, or with this process.

    function, args: anything that cloudpickle can send; what the function prints is dropped, and what it returns must be
    plain JSON. salt: of the hashes of texts there, from 1 to 2**32 - 1; where this process was given the same one, the
    next is taken.
    """

    def __init__(self, function: Callable, *args: Any, salt: int) -> None:
        import cloudpickle

        taken = os.environ.get("PYTHONHASHSEED") == str(salt)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(MPI)}
        path = os.pathsep.join(filter(None, [str(REPOSITORY), kept.get("PYTHONPATH")]))
        salted = str(salt + 1 if taken and salt < 2**32 - 1 else 1 if taken else salt)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autograde.another_process", str(os.getpid())],
            env={**kept, "PYTHONPATH": path, "PYTHONHASHSEED": salted},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            with self._process.stdin as line:
                line.write(cloudpickle.dumps((function, args)))
        except BrokenPipeError:
            pass  # it ended at once, and `answer` tells how
        except BaseException:
            self.__exit__()
            raise
        self._process.stdin = None

    def __enter__(self) -> AnotherProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def answer(self, timeout: float) -> dict:
        """``{"result": what the function returned, "error": None}``, or a text as error and None as result.

        timeout: in seconds, from now on.
        """
        try:
            said, _ = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"result": None, "error": f"not finished within {timeout:g} s"}
        if not said:
            return {"result": None, "error": f"it ended with status {self._process.returncode}"}
        return json.loads(said)


def call(payload: bytes) -> dict:
    """What `AnotherProcess.answer` gives for a pickled function with its arguments."""
    import cloudpickle

    try:
        function, args = cloudpickle.loads(payload)
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
    clock, nanoseconds = time.time, time.time_ns
    time.time, time.time_ns = lambda: clock() + AHEAD, lambda: nanoseconds() + AHEAD * 10**9
    answer = json.dumps(call(payload)).encode()
    with os.fdopen(out, "wb") as line:
        line.write(answer)
    os._exit(0)  # nothing that the student's code left behind keeps this process


if __name__ == "__main__":
    main()
