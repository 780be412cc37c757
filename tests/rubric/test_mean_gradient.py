"""The judge of a gradient that is put together from those of micro-batches."""

from __future__ import annotations

import pytest
import torch

from autograde.rubric.communication.reductions import mean_gradient
from autograde.verdicts.one_process import Part, expected_gradient

GENERATOR = torch.Generator().manual_seed(1)
ROWS = [torch.randn(9, generator=GENERATOR, dtype=torch.float64) for _ in range(4)]
PARTS = [Part(0, 1.0, count, gradient=count * row) for count, row in zip((5, 2, 3), ROWS, strict=False)]
RIGHT, LEFT = expected_gradient(PARTS), ROWS[3]


@pytest.mark.parametrize(
    ("gradient", "keys"),
    [
        (RIGHT * (1 + 1e-6), []),
        (RIGHT + 5e-4 * ROWS[0], ["wrong-weights"]),
        (sum(ROWS[:3]) / 3, ["mean-of-micro-batch-means"]),
        (sum(ROWS[:3]), ["micro-batches-not-averaged"]),
        (-RIGHT, ["wrong-sign"]),
        (RIGHT * torch.arange(9), ["wrong-gradient"]),
        (torch.full((9,), torch.nan), ["wrong-gradient"]),
        (RIGHT + LEFT, ["gradient-carried-over"]),
        (sum(ROWS[:3]) / 3 + LEFT, ["gradient-carried-over", "mean-of-micro-batch-means"]),
    ],
)
def test_what_counts_how_much_is_told_from_a_gradient(gradient, keys):
    assert sorted(wrong.key for wrong in mean_gradient(PARTS, [gradient.tolist()], [LEFT])) == keys
