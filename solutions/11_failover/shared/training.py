"""The random numbers of a rank, and a network whose dropout draws them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from autograde.fixtures.numbered_net import NumberedNet

LYING = 0.25  # what lies in each entry of `.grad` when `train` is called


def generator_after(luck: Sequence[int]) -> torch.Generator:
    """A generator that was seeded, and has been drawn from. luck: [seed, how many numbers]."""
    generator = torch.Generator().manual_seed(luck[0])
    torch.rand(luck[1], generator=generator)
    return generator


def next_number(generator: torch.Generator) -> float:
    """The number that comes next from a generator, which moves on by it."""
    return torch.rand(1, dtype=torch.float64, generator=generator).item()


def momentum_before(net: nn.Module, seed: int) -> list[torch.Tensor]:
    """What the optimizer has gathered for each weight of `net` where a training was begun by others."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(each.shape, dtype=each.dtype, generator=generator) - 0.5 for each in net.parameters()]


class DroppingNet(NumberedNet):
    """A plain NumberedNet whose dropout draws on the CPU wherever it computes, so that its path is the same there."""

    def __init__(self, seed: int, dropout: float) -> None:
        super().__init__(seed, plain=True, norm=False)
        self.dropout = Dropping(dropout)

    def row(self) -> list[float]:
        """All weights in a row."""
        return [value for each in self.parameters() for value in each.detach().cpu().flatten().tolist()]


class Dropping(nn.Module):
    """Dropout by random numbers of torch's global generator on the CPU, or of `generator`."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden, of any shape."""
        if not self.share:
            return hidden
        kept = torch.rand(hidden.shape, dtype=torch.float64, generator=self.generator) >= self.share
        return hidden * kept.to(hidden.device) / (1 - self.share)
