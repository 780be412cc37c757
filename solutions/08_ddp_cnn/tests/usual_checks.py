"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

import torch

from autograde.cells.subject import Subject
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet
from course.world import RANK, World


def losses_of(subject: Subject, rank: int) -> list[float]:
    """Runs on each rank: the losses of a training of three epochs."""
    model = NumberedNet(5 + rank, plain=True, norm=False)
    return subject.load()(model, NumberedSet(32, seed=3), 3, 8, 0.02, 7, torch.device("cpu"))


def loss_falls_on_every_rank(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(losses[-1] < losses[0] for losses in world.run(losses_of, mistaken, RANK, init="torch"))


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "past_the_wrapper": loss_falls_on_every_rank,
}
