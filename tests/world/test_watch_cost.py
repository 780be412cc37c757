"""The watch does little in a call: counted in function calls, which are the same each time, not in seconds.

What they cost in seconds: `bench/world.py`.
"""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.world import COMM

COUNTING = cell(
    """
    import sys

    import torch
    import torch.distributed as dist

    x = torch.ones(1)

    def calls_in(work):
        found = []
        work()  # what is said once is not counted
        sys.setprofile(lambda frame, event, argument: found.append(event))
        work()
        sys.setprofile(None)
        return found.count("call") + found.count("c_call")

    def f(comm):
        return {
            "torch": calls_in(lambda: dist.all_reduce(x, op=dist.ReduceOp.SUM)) if dist.is_initialized() else None,
            "mpi4py": calls_in(lambda: comm.allreduce(1.0)),
        }
    """
)


@pytest.mark.parametrize(("library", "most"), [("torch", 60), ("mpi4py", 40)])
def test_a_watched_call_makes_few_calls_of_functions_more(world, library, most):
    init = "torch" if library == "torch" else None
    watched, plain = (world.run(call, COUNTING, COMM, size=1, init=init, watch=watch)[0][library] for watch in (1, 0))
    assert 0 < watched - plain <= most
