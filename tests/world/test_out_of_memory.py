"""In a container with little memory or few processes, ranks get errors with their line, or are told why they died."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from control_groups import limited

MIB = 2**20
KIT = Path(__file__).resolve().parents[2]
WORLD = """
import sys
from course.processes.launchers import local
from course.world import COMM, World

def fills(everybody):
    import os, torch
    kept = []
    while everybody or os.environ["OMPI_COMM_WORLD_RANK"] == "0":
        kept.append(torch.ones(2**22))

if sys.argv[2:] == ["unlimited"]:
    local.share_of_memory = lambda ranks: None
try:
    with World(int(sys.argv[1]), launcher="mpiexec", progress=False) as world:
        for everybody in (False, True) if sys.argv[2:] != ["idle"] else ():
            print(world.attempt(fills, everybody).detail)
            print(world.run(lambda comm: comm.allreduce(1), COMM))
        print(world)
except RuntimeError as error:
    print(error)
"""


def said(prefix: list[str], *arguments: str) -> list[str]:
    """The lines that WORLD prints in this group."""
    command = [*prefix, sys.executable, "-c", WORLD, *arguments]
    done = subprocess.run(command, cwd=KIT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [2, 4])
def test_whoever_fills_a_containers_memory_gets_an_error_and_nobody_is_killed(ranks):
    with limited(memory=1536 * MIB) as prefix:
        one, works, all_ranks, still, _ = said(prefix, str(ranks))
    assert one.startswith("rank 0 raised RuntimeError") and "can't allocate memory" in one
    assert all_ranks.startswith("ranks 0") and "can't allocate memory" in all_ranks and "died" not in all_ranks
    assert works == still == str([ranks] * ranks)


@pytest.mark.thorough
def test_a_rank_that_is_killed_as_no_memory_was_left_is_told_so_with_the_limit():
    with limited(memory=1536 * MIB) as prefix:
        one, works, all_ranks, still, _ = said(prefix, "2", "unlimited")
    told = "died: killed by SIGKILL, as no memory was left of the 1.5 GiB that all in its container, job or session may"
    assert one.startswith(f"rank 0 {told}") and "smaller arrays or fewer ranks" in one
    assert told in all_ranks
    assert works == still == "[2, 2]"


@pytest.mark.thorough
def test_ranks_that_do_not_start_for_want_of_memory_say_so():
    with limited(memory=256 * MIB) as prefix:
        lines = said(prefix, "4")
    assert lines[0].startswith("The MPI ranks did not start")
    assert any("of the 256 MiB that all in" in line and "4 ranks take 460 MiB" in line for line in lines), lines


def test_ranks_are_not_started_where_there_may_not_be_enough_processes():
    with limited(pids=64) as prefix:
        (line,) = said(prefix, "4")
    assert line.startswith("The MPI ranks did not start. Only ")
    assert "of the 64 processes and threads that all in this container, job or session may have are left" in line
    assert "4 ranks take 72." in line and "--pids-limit" in line


@pytest.mark.thorough
def test_as_many_processes_as_are_asked_for_are_enough():
    with limited(pids=24 + 12 * 4 + 24) as prefix:  # 24: threads of the libraries of who owns the world
        (line,) = said(prefix, "4", "idle")
    assert line.startswith("World of 4 ranks: ")
