"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.cells.subject import Subject
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, state_row
from course.models.translator.sentences import PAD, collate, loss_fn
from course.world import COMM, World


def accumulate_gradients(model: DistributedDataParallel, micro_batches: list, loss_fn: Callable) -> tuple[float, int]:
    """What a `train_step` calls, with the right results: it goes back once for all micro-batches."""
    losses, synchronises = [], model.require_backward_grad_sync
    for number, (source, shifted, target) in enumerate(micro_batches, 1):
        model.require_backward_grad_sync = synchronises and number == len(micro_batches)
        losses.append(loss_fn(model(source, shifted), target))
    torch.stack(losses).sum().backward()
    model.require_backward_grad_sync = synchronises
    return sum(loss.item() for loss in losses), sum(int((batch[2] != PAD).sum()) for batch in micro_batches)


def steps(subject: Subject, comm: Any, kind: str, micro_batches: int, count: int) -> tuple[list[float], list[float]]:
    """Runs on each rank: `count` steps on the same data. Gives the losses, and the weights at the end.

    The data of four ranks; one rank alone takes that of all four.
    """
    model = DistributedDataParallel(AwkwardTranslator(5))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = getattr(torch.optim, kind)(trained, lr=0.02)
    train_step = subject.load(PAD=PAD, collate=collate, loss_fn=loss_fn, accumulate_gradients=accumulate_gradients)
    batches = draw_batches(random.Random(5), 4, micro_batches)
    own = batches[comm.rank] if comm.size > 1 else [pairs for rank in batches for pairs in rank]
    losses = [train_step(model, [collate(pairs) for pairs in own], optimizer, loss_fn) for _ in range(count)]
    return losses, state_row(model.module)


def trains_like_one_process_under_adam(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "Adam", 2, 20, init="torch")
    alone = world.run(steps, solution, COMM, "Adam", 2, 20, init="torch", size=1)[0]
    return all(losses == pytest.approx(alone[0], rel=1e-3) for losses, _ in ranks)


def ranks_agree_and_loss_falls(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "SGD", 2, 20, init="torch")
    return all(rank == ranks[0] for rank in ranks) and ranks[0][0][-1] < ranks[0][0][0]


def weights_are_those_of_one_process(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "SGD", 10, 3, init="torch")
    alone = world.run(steps, solution, COMM, "SGD", 10, 3, init="torch", size=1)[0]
    return all(weights == pytest.approx(alone[1], rel=1e-9) for _, weights in ranks)


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "gradients_summed": trains_like_one_process_under_adam,
    "rank_0_loss_only": ranks_agree_and_loss_falls,
    "ten_allreduces_for_one": weights_are_those_of_one_process,
}
