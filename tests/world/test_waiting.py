"""Ranks that wait leave the cores to those who compute, where there are more ranks than cores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from student_cells import call, cell

from course.processes.surroundings.machine import cores
from course.world import COMM, World

# Each returns how much of a core a rank's process took while rank 0 was late by a second.
LATE = """
import time

def f({comm}):
    began, used = time.perf_counter(), time.process_time()
    if {rank} == 0:
        time.sleep(1)
    {wait}
    return (time.process_time() - used) / (time.perf_counter() - began)
"""
MPI = cell(LATE.format(comm="comm", rank="comm.rank", wait="comm.allreduce(1)"))
TORCH = cell(
    "import torch\nimport torch.distributed as dist\n"
    + LATE.format(comm="", rank="dist.get_rank()", wait="dist.all_reduce(torch.ones(1))")
)
HOROVOD = cell(
    "import torch\nimport horovod.torch as hvd\n"
    + LATE.format(comm="", rank="hvd.rank()", wait="hvd.allreduce(torch.ones(1))")
)


@pytest.fixture(scope="module")
def crowd() -> Iterator[World]:
    """A world of more ranks than this machine has cores."""
    with World(max(4, cores() + 1), progress=False) as started:
        yield started


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("subject", "arguments", "init"),
    [(MPI, (COMM,), None), (TORCH, (), "torch"), (HOROVOD, (), "horovod")],
    ids=["mpi4py", "torch", "horovod"],
)
def test_who_waits_takes_next_to_nothing_of_a_core(crowd, subject, arguments, init):
    taken = crowd.run(call, subject, *arguments, init=init)
    assert max(taken) < 0.25


def test_a_handle_of_horovod_may_be_waited_for_twice_as_without_a_watch(world):
    twice = cell(
        """
        import horovod.torch as hvd
        import torch

        def f():
            handle = hvd.allreduce_async(torch.ones(1), op=hvd.Sum)
            return [hvd.synchronize(handle), hvd.synchronize(handle)]
        """
    )
    assert world.run(call, twice, init="horovod") == world.run(call, twice, init="horovod", watch=False)


@pytest.mark.alone
def test_ranks_that_have_a_core_each_wait_awake_also_in_a_larger_world(crowd):
    alone = cell(LATE.format(comm="comm", rank="comm.rank", wait="comm.allreduce(1)"))
    late, awake = crowd.run(call, alone, COMM, size=2)
    assert awake > 0.5 > late, "the other has a core to itself"
    assert max(crowd.run(call, MPI, COMM)) < awake / 2, "and in the next run all sleep again"
