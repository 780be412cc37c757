"""What comes next from a generator, by its luck: [seed, how many numbers are drawn before]."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..shared.training import generator_after, next_number

FEW = 20  # draws


def after(luck: Sequence[int]) -> float:
    """The number that comes next."""
    return next_number(generator_after(luck))


def later(luck: Sequence[int]) -> set[float]:
    """What comes next after one to FEW more draws."""
    found = set()
    for more in range(1, FEW + 1):
        generator = generator_after(luck)
        for _ in range(more):
            torch.rand(1, generator=generator)
        found.add(next_number(generator))
    return found
