"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograde.cells.subject import Subject
from course.world import World


def gradients_by(reducer_of: Callable | None) -> list[float]:
    """Runs on each rank: the gradients after a backward pass, by a reducer, or by DistributedDataParallel."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    reducer = reducer_of(model, [[3], [2], [1], [0]]) if reducer_of else None
    batch = torch.randn(8, 3, dtype=torch.float64).tensor_split(dist.get_world_size())[dist.get_rank()]
    forward = model if reducer else DistributedDataParallel(model)
    forward(batch).square().mean().backward()
    if reducer:
        reducer.finish()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist()


def gradients_by_a_student(subject: Subject) -> list[float]:
    """Runs on each rank: the gradients by the student's reducer."""
    return gradients_by(subject.load())


def gradients_are_those_of_ddp(world: World, mistaken: Subject, solution: Subject) -> bool:
    own = world.run(gradients_by_a_student, mistaken, init="torch")
    right = world.run(gradients_by, None, init="torch")
    return np.allclose(own, right, rtol=1e-12)


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "sent_when_full": gradients_are_those_of_ddp,
}
