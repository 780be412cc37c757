"""Control groups of a test's own, with limits of theirs, where this machine lets one make them."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from small_clone import wait_for

from course.processes.surroundings import machine

# What limits a controller, by version: the files, and what a limit is written as.
LIMITS = {
    ("memory", 1): {"memory.limit_in_bytes": "{}"},
    ("memory", 2): {"memory.max": "{}"},
    ("pids", 1): {"pids.max": "{}"},
    ("pids", 2): {"pids.max": "{}"},
    ("cpu", 1): {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "{}"},
    ("cpu", 2): {"cpu.max": "{} 100000"},
}


@contextmanager
def limited(**limits: int) -> Iterator[list[str]]:
    """A group with limits: `memory` in bytes, `pids`, `cpu` in microseconds of each tenth of a second.

    Yields the beginning of a command that runs in it. Skips the test where no group can be made.
    """
    folders: list[Path] = []
    try:
        for controller, limit in limits.items():
            folders.append(folder_of(controller, limit))
        enter = " && ".join(f"echo $$ >{folder}/cgroup.procs" for folder in folders)
        yield ["sh", "-c", f'{enter} && exec "$@"', "sh"]
    finally:
        for folder in folders:
            for pid in (folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            wait_for(lambda folder=folder: not (folder / "cgroup.procs").read_text().strip())
            wait_for(lambda folder=folder: removed(folder))


def folder_of(controller: str, limit: int) -> Path:
    """The folder of a new group that has this limit, in a group of this process, the outermost that takes it."""
    said = "its hierarchy is not mounted"
    for above in reversed(machine.groups(controller)):
        folder = above.folder / f"lockstep-{uuid.uuid4().hex[:8]}"
        try:
            if above.version == 2:
                (above.folder / "cgroup.subtree_control").write_text(f"+{controller}")
            folder.mkdir()
            for name, text in LIMITS[controller, above.version].items():
                (folder / name).write_text(text.format(limit))
            return folder
        except OSError as error:
            said = str(error)
            removed(folder)
    pytest.skip(f"no control group for `{controller}` can be made here: {said}")


def removed(folder: Path) -> bool:
    """Whether the group is gone; it is busy as long as a process in it ends."""
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()
