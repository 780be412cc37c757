"""Waits for Horovod where JupyterLab was opened before Horovod was compiled.

`./lockstep lab` opens JupyterLab as soon as it can, and leaves the compilation to a set-up beside it
(autograde/install/beside.py). In `.venv`, the file OPENED is there for as long as Horovod is not. The set-up holds
LOCK, and leaves FAILURE where it fails.
"""

from __future__ import annotations

import fcntl
import importlib
import re
import sys
import time
from pathlib import Path

from tqdm import tqdm

OPENED = "lockstep.opened"  # in .venv
LOCK = "setup.lock"  # this and the next two are in .lockstep, beside .venv
FAILURE = "horovod.failed"
LOG = "setup.log"
POLL = 1.0  # seconds between two looks, and two drawings of the bar, which a notebook stores
TAIL = 20_000  # bytes of the log in which the compiler's last percentage stands
AGAIN = "in a terminal (File > New > Terminal): ./lockstep setup; then run this cell again, it waits for the set-up"


class HorovodMissing(ImportError):
    """Horovod is not there, and nothing is at work to bring it."""


def is_awaited(venv: Path = Path(sys.prefix)) -> bool:
    """Whether JupyterLab was opened before Horovod was there, and Horovod is not there yet."""
    return (venv / OPENED).exists()


def wait_for_horovod(shown: bool = True, venv: Path = Path(sys.prefix)) -> None:
    """Return when the set-up that compiles Horovod is done; at once where none was left undone.

    shown: whether to show a progress bar. venv: the virtual environment. Raises HorovodMissing, with the cause and the
    next step, if the set-up failed or was ended.
    """
    if not is_awaited(venv):
        return
    state = venv.parent / ".lockstep"
    with tqdm(
        total=100,
        desc="Waiting for Horovod, which is being compiled",
        bar_format="{desc}: {bar:20} {percentage:.0f} %, {elapsed}",
        disable=not shown,
        file=sys.stdout,
        leave=False,
    ) as bar:
        while is_awaited(venv):
            if not is_locked(state / LOCK) and is_awaited(venv):
                raise HorovodMissing(why_it_is_missing(state))
            bar.update(max(0, compiled(state / LOG) - bar.n))
            bar.refresh()
            time.sleep(POLL)
    importlib.invalidate_caches()


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock: a set-up, or a command of one that was killed."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def compiled(log: Path) -> int:
    """How much of Horovod is compiled, in percent: what make said last in the set-up's log."""
    if not log.exists():
        return 0
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        said = re.findall(rb"^\s*\[ *(\d+)%\]", file.read(), re.MULTILINE)
    return int(said[-1]) if said else 0


def why_it_is_missing(state: Path) -> str:
    """One paragraph for whoever needs Horovod. state: the clone's folder `.lockstep`."""
    failure = state / FAILURE
    why = failure.read_text().strip() if failure.exists() else "its compilation was ended before it was done"
    return f"Horovod is not there yet: {why}\n  next:  {AGAIN}"
