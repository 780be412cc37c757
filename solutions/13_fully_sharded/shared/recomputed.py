"""A layer that counts its calls and may throw dice, as both sides draw it from a seed."""

from __future__ import annotations

import torch
from torch import nn

from .values import drawn


class Counted(nn.Module):
    """Two matrices, and between them dropout.

    call: says `width`, `hidden` and `dropout`, and the seed of the weights. generator: of random numbers; None: torch's
    own, as any layer's.
    """

    def __init__(self, call: dict, generator: torch.Generator | None = None) -> None:
        super().__init__()
        width, hidden, seed = call["width"], call["hidden"], call["seed"]
        self.first = nn.Parameter(drawn(seed + 1, [width, hidden]) - 1)
        self.bias = nn.Parameter(drawn(seed + 2, [hidden]) - 1)
        self.second = nn.Parameter(drawn(seed + 3, [hidden, hidden]) - 1)
        self.dropout, self.generator, self.calls = call["dropout"], generator, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's output."""
        self.calls += 1
        y = torch.tanh(x @ self.first + self.bias)
        if self.dropout:
            y = y * (torch.rand(y.shape, generator=self.generator, dtype=y.dtype) >= self.dropout)
        return torch.tanh(y @ self.second)


def samples_of(call: dict) -> torch.Tensor:
    """What goes into it."""
    return drawn(call["seed"], [3, call["width"]]).requires_grad_(call["needs"])


def seed_of(call: dict) -> int:
    """Of the random numbers in the forward pass."""
    return call["seed"] + 9


def before_of(call: dict, leaves: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """What is in `.grad` of the leaves already, where a call says so."""
    return [drawn(call["seed"] + 20, each.shape) if call["before"] else None for each in leaves]
