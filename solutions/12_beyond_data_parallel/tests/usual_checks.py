"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from autograde.cells.subject import Subject
from course.world import World


def split_and_whole(subject: Subject) -> bool:
    """Runs on each rank: whether the output of a split MLP is that of the whole one."""

    def summed(x: torch.Tensor, group: Any = None) -> torch.Tensor:
        total = x.detach().clone()
        dist.all_reduce(total)
        return total

    torch.manual_seed(0)
    mlp = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).double()
    part = subject.load(copy_to_ranks=lambda x, group=None: x, sum_over_ranks=summed)(mlp)
    x = torch.randn(5, 3, dtype=torch.float64)
    return torch.allclose(part(x), mlp(x), rtol=1e-12)


def output_is_that_of_one_process(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(world.run(split_and_whole, mistaken, init="torch"))


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "f_left_out": output_is_that_of_one_process,
}
