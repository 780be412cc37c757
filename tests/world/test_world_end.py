"""Nothing of a world outlives its owner: no process, no folder, no shared memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from course.processes.reaper import kill_marked, marked

OWNER = """
import sys, time
from course.world import COMM, World

world = World(2, progress=False)
print(world._processes.mark, world._processes.folder, flush=True)

def busy(comm):
    import subprocess
    subprocess.Popen(["sleep", "1000"])      # what a student's code leaves behind
    while True:
        comm.barrier()

if sys.argv[1] == "busy":
    print("running", flush=True)
    world.attempt(busy, COMM, deadline=300)
elif sys.argv[1] == "idle":
    print("running", flush=True)
    time.sleep(300)
elif sys.argv[1] == "stopped":
    world.stop()
    print("running", flush=True)
    time.sleep(300)
"""


def start(what: str) -> tuple[subprocess.Popen, str, Path]:
    """A program that owns a world, and the world's mark and folder."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, what], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    mark, folder = owner.stdout.readline().split()
    assert owner.stdout.readline() == ("running\n" if what != "ended" else "")
    return owner, mark, Path(folder)


def gone(mark: str, folder: Path, seconds: float = 120) -> bool:
    """Whether all of the world is gone within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not marked(mark) and not folder.exists():
            return True
        time.sleep(0.1)
    return False


def leftovers(mark: str) -> int:
    """How many of the world's processes are what the student's code leaves behind."""
    found = 0
    for pid in marked(mark):
        with contextlib.suppress(psutil.Error):  # it has ended
            found += psutil.Process(pid).cmdline() == ["sleep", "1000"]
    return found


@pytest.mark.parametrize("seconds", [120, pytest.param(10, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("what", ["busy", pytest.param("idle", marks=pytest.mark.thorough)])
def test_after_sigkill_of_the_owner_nothing_is_left_before_long(what, seconds):
    owner, mark, folder = start(what)
    while what == "busy" and leftovers(mark) < 2:
        time.sleep(0.05)
    assert len(marked(mark)) > 4, "the world is there before its owner is killed"
    os.killpg(owner.pid, signal.SIGKILL)  # as Jupyter does
    owner.wait()
    assert gone(mark, folder, seconds)


@pytest.mark.thorough
def test_ranks_do_not_outlive_the_owner_where_the_reaper_died_either():
    owner, mark, folder = start("idle")
    (reaper,) = [child.pid for child in psutil.Process(owner.pid).children() if mark in child.cmdline()]
    os.kill(reaper, signal.SIGKILL)
    os.killpg(owner.pid, signal.SIGKILL)
    owner.wait()
    end = time.monotonic() + 120
    while (left := marked(f"{mark}-ranks")) and time.monotonic() < end:
        time.sleep(0.1)
    kill_marked(mark)
    shutil.rmtree(folder, ignore_errors=True)
    assert not left


def test_stop_leaves_nothing():
    owner, mark, folder = start("stopped")
    assert not marked(mark) and not folder.exists()
    owner.kill()
    owner.wait()


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [120, 1])
def test_the_end_of_the_program_leaves_nothing(seconds):
    owner, mark, folder = start("ended")
    assert owner.wait() == 0
    assert gone(mark, folder, seconds)
