"""A small model and its micro-batches, the same wherever they are drawn from the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


def loss_fn(outputs: Tensor, y: Tensor) -> Tensor:
    """A mean in which too large an output costs more than too small a one, so that the arguments' order shows."""
    return nn.functional.softplus(outputs - y).mean()


def model_of(call: Mapping[str, Any]) -> nn.Module:
    """Linear layers of the call's `widths`, in float64. The one in the middle is frozen."""
    generator, layers = torch.Generator().manual_seed(call["seed"]), []
    for before, after in zip(call["widths"], call["widths"][1:], strict=False):
        layers += [nn.Linear(before, after, dtype=torch.float64), nn.Tanh()]
    with torch.no_grad():
        for layer in layers[::2]:
            for each in layer.parameters():
                each.copy_(torch.randn(each.shape, generator=generator, dtype=torch.float64) / 2)
    layers[len(layers) // 4 * 2].requires_grad_(False)
    return nn.Sequential(*layers[:-1])


def micro_batches(call: Mapping[str, Any], rank: int) -> list[tuple[Tensor, Tensor]]:
    """A rank's pairs (x, y), of three samples each."""
    generator = torch.Generator().manual_seed(call["seed"] + 101 * rank + 1)

    def drawn(width: int) -> Tensor:
        return torch.randn(3, width, generator=generator, dtype=torch.float64)

    return [(drawn(call["widths"][0]), drawn(call["widths"][-1])) for _ in range(call["micro"])]


def before_of(call: Mapping[str, Any], rank: int) -> list[Tensor | None]:
    """What is in `.grad` of each parameter when the function is called."""
    generator = torch.Generator().manual_seed(call["seed"] + 103 * rank + 2)
    return [
        torch.randn(each.shape, generator=generator, dtype=torch.float64)
        if call["left"] and each.requires_grad
        else None
        for each in model_of(call).parameters()
    ]
