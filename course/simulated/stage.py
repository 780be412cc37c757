"""A stage of a pipeline that takes as long as it should: four of them run at once, on any number of cores."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn


class SlowStage(nn.Module):
    """A dense layer of `width` units that takes `seconds` forward, and as long backward. It sleeps.

    passes: what it has done, in order: "F" or "B", when it began and when it ended, by time.perf_counter().
    """

    def __init__(self, width: int, seconds: float) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.seconds = seconds
        self.passes: list[tuple[str, float, float]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer, slowly."""
        return SleepBothWays.apply(self.layer(x), self)

    def sleep(self, kind: str) -> None:
        """Take the time of a pass, and note it."""
        began = time.perf_counter()
        time.sleep(self.seconds)
        self.passes.append((kind, began, time.perf_counter()))


class SleepBothWays(torch.autograd.Function):
    """Gives what it gets, after a while, in both directions."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, stage: SlowStage) -> torch.Tensor:
        """The forward pass of the stage."""
        ctx.stage = stage
        stage.sleep("F")
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Its backward pass."""
        ctx.stage.sleep("B")
        return gradient, None
