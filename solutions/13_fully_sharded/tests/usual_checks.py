"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from autograde.cells.subject import Subject
from autograde.labs.folder import solution_cells
from course.world import World


def sharded_losses(subject: Subject, earlier: dict[str, str]) -> tuple[list[float], list[float]]:
    """Runs on each rank: the losses of three steps, sharded and data parallel. earlier: solutions of TODOs that it
    calls."""
    given = {todo: Subject(todo, source).load() for todo, source in earlier.items()}
    losses = []
    for sharded in (True, False):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(4, 4).double() for _ in range(3)]
        model = subject.load(**given)(layers) if sharded else torch.nn.Sequential(*layers)
        optimizer, own = torch.optim.SGD(model.parameters(), 0.1), []
        for step in range(3):
            x = torch.full((2, 4), 1.0 + step + dist.get_rank(), dtype=torch.float64)
            loss = model(x).square().mean()
            loss.backward()
            for each in () if sharded else model.parameters():
                dist.all_reduce(each.grad)
                each.grad /= dist.get_world_size()
            optimizer.step()
            optimizer.zero_grad()
            own.append(loss.item())
        losses.append(own)
    return losses[0], losses[1]


def sharded_losses_are_those_of_data_parallel_training(world: World, mistaken: Subject, solution: Subject) -> bool:
    cells = solution_cells(Path(__file__).parents[1] / "lab.py")
    earlier = {todo: cells[todo] for todo in ("shard", "gathered", "reduce_scattered")}
    ranks = world.run(sharded_losses, mistaken, earlier, init="torch")
    return all(sharded == pytest.approx(plain) for sharded, plain in ranks)


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "never_freed": sharded_losses_are_those_of_data_parallel_training,
}
