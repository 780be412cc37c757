"""How far a grading is, in a file that every run writes, whoever started it: a hub's card and pages read it.

`class/LAB/grading.jsonl` has a line of JSON for each step. The run holds a lock on the file as long as it lives, so one
that was killed is not taken for one that goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from autograde.labs.places import CLASS

FILE = "grading.jsonl"
DONE, STOPPED = "done", "stopped"  # how a run ended; what went wrong otherwise
T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    doing: what is done now, in words; `done` of `total` submissions are dealt with, 0 where they are not counted.
    since: when the run began, in seconds since the epoch. process: its id. in_background: what it says is in
    `log_path`, and in no terminal. ended: DONE, STOPPED or what went wrong; empty before that. running: whether it goes
    on; a run that neither goes on nor ended was killed.
    """

    since: float
    process: int
    in_background: bool = False
    doing: str = "beginning"
    done: int = 0
    total: int = 0
    ended: str = ""
    running: bool = False

    def __str__(self) -> str:
        """In a few words."""
        return f"{self.doing}, {self.done} of {self.total}" if self.total else self.doing


class Reporter:
    """Keeps how far a run is; this one reports it to nobody."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def report(self, **changes: object) -> None:
        """Report what has changed."""
        self.progress = replace(self.progress, **changes)

    def step(self, doing: str, total: int = 0) -> None:
        """Begin with something else, of which `total` are to be done."""
        self.report(doing=doing, done=0, total=total)

    def advance(self) -> None:
        """One more is done."""
        self.report(done=self.progress.done + 1)

    def count(self, doing: str, items: Collection[T]) -> Iterator[T]:
        """The items, each of which is done when the next is asked for."""
        self.step(doing, len(items))
        for item in items:
            yield item
            self.advance()


class FileReporter(Reporter):
    """Reports into the file. A disk that is full of a sudden stops no grading here."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        super().__init__(progress)
        self.file = file
        self.report()

    def report(self, **changes: object) -> None:
        """Write what has changed."""
        super().report(**changes)
        with suppress(OSError):
            self.file.write(json.dumps(asdict(self.progress)).encode() + b"\n")


def reporter_to_nobody() -> Reporter:
    """For a part of a run that is none of its own."""
    return Reporter(Progress(time.time(), os.getpid()))


def path_of(root: Path, lab: str) -> Path:
    """The file of a lab's last run, of the course at `root`."""
    return root / CLASS / lab / FILE


def log_path(root: Path, lab: str) -> Path:
    """What a run in the background says."""
    return root / CLASS / lab / "grading.log"


@contextmanager
def reporting(root: Path, lab: str, in_background: bool = False) -> Iterator[Reporter]:
    """Report how far a run is into its file, in this block. Only who has the class's lock may. Raises OSError."""
    path = path_of(root, lab)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # who reads has it for an instant
        file.truncate(0)
        run = FileReporter(file, Progress(time.time(), os.getpid(), in_background))
        try:
            yield run
        except BaseException as error:
            run.report(ended=STOPPED if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__)
            raise
        run.report(ended=DONE)


def read(root: Path, lab: str) -> Progress | None:
    """How far the last grading of a lab is; None if there was none, or it cannot be read."""
    try:
        with open(path_of(root, lab), "rb") as file:
            running = is_locked(file)
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        with suppress(ValueError, TypeError):  # one that is written just now is not whole
            return replace(Progress(**json.loads(line)), running=running)
    return Progress(time.time(), 0, running=True) if running else None


def on_now(root: Path) -> str:
    """Which lab of the course at `root` is being graded, and how far that is; empty if none is."""
    for path in sorted((root / CLASS).glob(f"*/{FILE}")):
        if (run := read(root, path.parent.name)) and run.running:
            return f"{path.parent.name}: {run}"
    return ""


def is_locked(file: BinaryIO) -> bool:
    """Whether a run holds the lock on an open file. If none does, it is ours until the file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
