"""A training of a few epochs as plain data: which batches each step takes, and what one process makes of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch.utils.data import DistributedSampler

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_pairs, state_row
from course.models.sentences import PAD, collate, loss_fn

MOMENTUM = 0.9
Step = list[list[int]]  # the micro-batches of all ranks in one step, each the numbers of its pairs


def draw_training(rng: random.Random, size: int, *, batches: int, accumulate: int) -> dict:
    """A training on `size` ranks as plain JSON, with `batches` micro-batches of two pairs on each rank and epoch.

    The pairs do not divide evenly: the last batch of a rank may be smaller, and the sampler has to pad.
    """
    count = size * (2 * batches - rng.randint(0, 1)) - rng.randint(1, size - 1)
    seeds = {"seed": rng.randrange(2**30), "order": rng.randrange(2**30), "lr": round(rng.uniform(0.05, 0.15), 3)}
    return {"size": size, "pairs": draw_pairs(rng, count), "accumulate": accumulate, **seeds}


def build(training: dict, seed: int, device: torch.device | str = "cpu") -> tuple[AwkwardTranslator, torch.optim.SGD]:
    """The model with weights from `seed`, and its optimizer."""
    model = AwkwardTranslator(seed).to(device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return model, torch.optim.SGD(trained, training["lr"], momentum=MOMENTUM)


def everyones_batches(training: dict, epoch: int) -> list[Step]:
    """What the ranks draw in an epoch: for each place in the loaders, one micro-batch of each rank."""
    ranks = []
    for rank in range(training["size"]):
        sampler = DistributedSampler(training["pairs"], training["size"], rank, shuffle=True, seed=training["order"])
        sampler.set_epoch(epoch)
        own = list(sampler)
        ranks.append([own[start : start + 2] for start in range(0, len(own), 2)])
    return [list(batches) for batches in zip(*ranks, strict=True)]


def in_steps(places: Sequence[Step], most: int) -> list[Step]:
    """Steps of `most` places each; the last one is what is left."""
    parts = [places[start : start + most] for start in range(0, len(places), most)]
    return [[batch for place in part for batch in place] for part in parts]


def in_one_process(training: dict, plan: Sequence[Step], seed: int | None = None) -> tuple[list[float], list[float]]:
    """Train in one process, step by step as planned: the loss of each, and the weights at the end.

    seed: of the weights at the start, if they are not the training's own.
    """
    model, optimizer = build(training, training["seed"] if seed is None else seed)
    losses = []
    for step in plan:
        batches = [collate([training["pairs"][number] for number in numbers]) for numbers in step]
        tokens = sum(int((tgt_out != PAD).sum()) for _, _, tgt_out in batches)
        loss = sum(loss_fn(model(src, tgt_in), tgt_out) for src, tgt_in, tgt_out in batches) / tokens
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, state_row(model)
