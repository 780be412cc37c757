"""The picture of a learning rate that warms up."""

from __future__ import annotations

import pytest
import torch

from ..figures.warm_up import factors_loss, warm_up_picture

X = torch.linspace(-1, 3, 24, dtype=torch.float64)
Y = 1.5 * X - 0.5 + torch.sin(7 * X)
FACTORS = {"home": [(3.0, 3.2), (1.5, 1.8), (1.1, 1.3)], "away": [(3.0, 3.2), (-40.0, -41.0)]}
FIGURES = {
    "warm-up": lambda: warm_up_picture(X, Y, FACTORS),
}


def test_the_loss_of_two_factors_is_that_of_their_product() -> None:
    loss = factors_loss(X, Y, torch.tensor([[2.0, 3.0], [6.0, 1.0]], dtype=torch.float64))
    assert loss[0] == pytest.approx(loss[1]) == pytest.approx(float(((6 * X - Y) ** 2).mean()))
