"""What torch's own sampler draws."""

from __future__ import annotations

from torch.utils.data import DistributedSampler


def drawn(samples: int, size: int, epochs: int, deaf: bool = False) -> list[list[list[int]]]:
    """By epoch and rank, what torch's own sampler draws. deaf: whether it hears of no epoch."""
    samplers = [DistributedSampler(range(samples), size, rank) for rank in range(size)]
    rows = []
    for epoch in range(epochs):
        for sampler in samplers:
            sampler.set_epoch(0 if deaf else epoch)
        rows.append([list(sampler) for sampler in samplers])
    return rows
