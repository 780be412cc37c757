"""Lets JupyterLab open before Horovod is compiled, which takes longer than all else: a process beside it does the rest.

The file OPENED in `.venv` is there for as long as Horovod is not: who needs it waits, see
course/processes/horovod_setup.py. That process holds the lock of the set-up, so that whatever else sets up waits for
it, and leaves FAILURE behind where it fails. It is of a session of its own: it also ends its work where JupyterLab is
closed before. If it is killed, the next start begins another.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from autograde.install.causes import SetupFailed
from autograde.install.kit import Kit

OPENED = "lockstep.opened"
FAILURE = "horovod.failed"
NICE = 10  # JupyterLab and the labs come first


def is_open(root: Path, stamp: str) -> bool:
    """Whether all but Horovod was installed by a set-up with this stamp."""
    opened = root / ".venv" / OPENED
    return opened.exists() and opened.read_text().strip() == stamp and os.access(opened.parent / "bin/python", os.X_OK)


def has_lock(lock: int, root: Path, stamp: str) -> bool:
    """Wait for the lock of the set-up, or until another process that holds it has come so far that JupyterLab can be
    opened; whether it is the lock.
    """
    said = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if is_open(root, stamp):
                return False
        if not said:
            print("lockstep: another set-up of this clone is at work; waiting for it", flush=True)
            said = True
        time.sleep(0.2)


def go_on_beside(root: Path, lock: int, mpi: str, stamp: str) -> None:
    """Note that JupyterLab can be opened, and start the process that does the rest. lock: an open file, locked; that
    process keeps it locked.
    """
    (root / ".lockstep" / FAILURE).unlink(missing_ok=True)
    (root / ".venv" / OPENED).write_text(stamp + "\n")
    options = ["--for", "lab", "--mpi", mpi, "--stamp", stamp, "--beside", str(lock)]
    subprocess.Popen(
        [sys.executable, "-s", "-m", "autograde.install", *options],
        cwd=root,
        stdin=subprocess.DEVNULL,
        pass_fds=[lock],
        start_new_session=True,
    )
    print("lockstep: JupyterLab opens now; Horovod is compiled beside it (3 min), cells that need it wait", flush=True)


def finish_beside(kit: Kit, finish: Callable[[Kit], None]) -> None:
    """Run `finish`, and note how it went. Raises SetupFailed where it fails.

    The terminal, on which JupyterLab writes by now, gets one line at the end; it may be gone then.
    """
    os.nice(NICE)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            finish(kit)
    except SetupFailed as failure:
        (kit.state / FAILURE).write_text(f"{failure}\n  log:   {kit.log}\n")
        raise
    with contextlib.suppress(OSError):
        print("lockstep: Horovod is ready", flush=True)
