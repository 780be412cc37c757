"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

import torch

from autograde.cells.subject import Subject
from course.world import RANK, World


def accuracies(subject: Subject, rank: int) -> list[float]:
    """Runs on each of four ranks: the accuracy on ten samples, two of them padding, of a model that is always right,
    and of one that is always wrong."""
    distributed_accuracy = subject.load()
    indices = torch.tensor([*range(10), 0, 1])[rank::4]
    return [distributed_accuracy(torch.full((3,), right), indices, 10) for right in (True, False)]


def is_one_if_all_is_right_and_zero_if_nothing_is(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(accuracies, mistaken, RANK, init="torch") == [[1.0, 0.0]] * 4


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "padding_counted": is_one_if_all_is_right_and_zero_if_nothing_is,
}
