"""The number that a question of the lab asks for, computed otherwise."""

from __future__ import annotations

from pathlib import Path

import torch

from autograde.labs.questions import read_questions

LAB = Path(__file__).parents[1]


def test_the_smallest_learning_rate_is_the_first_with_which_the_full_batch_ends_higher():
    generator = torch.Generator().manual_seed(0)
    x = 4 * torch.rand(48, generator=generator, dtype=torch.float64) - 1
    y = 1.5 * x - 0.5 + 0.8 * torch.randn(48, generator=generator, dtype=torch.float64)

    def ends_higher(lr: float) -> bool:
        m, n = -2.0, 1.5
        first = ((m * x + n - y) ** 2).mean()
        for _ in range(20):
            error = m * x + n - y
            m, n = m - lr * 2 * (error * x).mean(), n - lr * 2 * error.mean()
        return bool(((m * x + n - y) ** 2).mean() > first)

    assert (
        next(k for k in range(5, 100) if ends_higher(k / 100)) / 100 == read_questions(LAB)["smallest_lr"].right.value
    )
