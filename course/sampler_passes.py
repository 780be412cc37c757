"""Samplers put to use, pass after pass, among global random generators that are watched."""

from __future__ import annotations

import random
from typing import Any

from course.sharding import listed


def passes_of(sampler_class: Any, case: dict, rank: int, luck: int) -> dict:
    """What samplers of one rank yield, and what the global generators give then, which were seeded with `luck`."""
    import numpy
    import torch

    torch.manual_seed(luck)
    random.seed(luck)
    numpy.random.seed(luck)
    samplers, seen = [], []
    for samples, alone, seed in case["samplers"]:
        place = (samples, 0, 1) if alone else (samples, rank, case["size"])
        if seed is None:
            samplers.append(sampler_class(*place))
        elif len(samplers) % 2:
            samplers.append(sampler_class(*place, seed))
        else:
            names = ("dataset_size", "rank", "size")
            samplers.append(sampler_class(**dict(zip(names, place, strict=True)), seed=seed))
    for which, epoch in case["passes"]:
        if epoch is not None:
            samplers[which].set_epoch(epoch)
        length = len(samplers[which])
        seen.append({**listed(iter(samplers[which]), most=3 * case["samplers"][which][0] + 10), "length": length})
    drawn = [torch.rand(1, dtype=torch.float64).item(), random.random(), float(numpy.random.random())]
    derived = isinstance(samplers[0], torch.utils.data.Sampler)
    return {"passes": seen, "drawn": drawn, "derived": derived}


def generators_after(luck: int) -> dict[str, float]:
    """By library, the number that its global generator gives if nobody but `luck` touched it."""
    import numpy
    import torch

    return {
        "torch": torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(luck)).item(),
        "random": random.Random(luck).random(),
        "numpy": float(numpy.random.RandomState(luck).random_sample()),
    }
