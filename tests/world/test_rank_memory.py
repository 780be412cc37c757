"""A rank that takes more and more memory is told so before the machine has none left, and the world goes on."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest
from student_cells import call, cell

from course.processes.launchers import local
from course.processes.surroundings import limits
from course.processes.surroundings.machine import Memory
from course.world import COMM, World

FILLS = cell(
    """
    def f(comm):
        kept = []
        while comm.rank == 0 and len(kept) < 4096:
            kept.append(bytearray(2**28))
        return comm.allreduce(1)
    """
)
TENSORS = cell(
    """
    import torch

    def f(comm):
        kept = []
        while comm.rank == 0 and len(kept) < 4096:
            kept.append(torch.zeros(2**26))
        return comm.allreduce(1)
    """
)
FITS = cell(
    """
    def f(comm):
        return len(bytearray(2**28)) + comm.allreduce(0)
    """
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Two ranks, each of which may take 1 GiB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "share_of_memory", lambda ranks: 2**30)
        with World(2, launcher="mpiexec", progress=False) as started:
            yield started


@pytest.mark.parametrize(
    ("subject", "line", "told"),
    [(FILLS, 4, "MemoryError"), (TENSORS, 6, "can't allocate memory")],
    ids=["bytes", "tensors"],
)
def test_who_fills_memory_gets_an_error_at_the_line(world, subject, line, told):
    outcome = world.attempt(call, subject, COMM)
    first = outcome.ranks[0]
    assert (outcome.state, first.state, first.line) == ("raised", "raised", line)
    assert told in outcome.report
    assert world.run(call, FITS, COMM) == [2**28, 2**28]


def test_ranks_together_leave_memory_to_others():
    ranks = 3
    if share := limits.share_of_memory(ranks):
        assert limits.LEAST_SHARE <= share <= max(limits.LEAST_SHARE, psutil.virtual_memory().total // ranks)


@pytest.mark.parametrize(("ranks", "mib"), [(1, 897), (2, 432), (4, 256)])
def test_in_a_container_ranks_share_what_its_group_leaves_once_they_have_started(monkeypatch, ranks, mib):
    monkeypatch.setattr(limits.machine, "memory", lambda: Memory(3 * 2**29, 1522 * 2**20))
    monkeypatch.setattr(limits.shutil, "which", lambda program: None)
    assert limits.share_of_memory(ranks) // 2**20 == mib
    assert ranks * mib + limits.memory_for(ranks) // 2**20 <= 1536


def test_where_a_limit_holds_already_it_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(limits.resource, "getrlimit", lambda what: (2**32, 2**32))
    assert limits.share_of_memory(2) is None
