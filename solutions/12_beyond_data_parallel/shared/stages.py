"""The stages of a pipeline, as both sides draw them from a seed, and what is noted of their passes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course.watch.notes import note

from .tensors import drawn


class NoteBackward(torch.autograd.Function):
    """Gives what it gets, and notes when the gradient comes back."""

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, stage: Stage, number: int) -> torch.Tensor:
        """The output as it is."""
        ctx.stage, ctx.number = stage, number
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """The gradient as it is."""
        note(ctx.stage.comm, f"backward {ctx.number}")
        return gradient, None, None


class Stage(nn.Module):
    """A stage: a matrix, a bias and tanh, whose output may be column-major.

    comm: where its passes are noted among the events of the run, by way and number. passes: how many forward passes it
    has made.
    """

    def __init__(self, call: dict, number: int, comm: Any = None) -> None:
        super().__init__()
        width, seed = call["width"], call["seed"] + 10 * number
        self.weight = nn.Parameter(drawn(seed, [width, width]))
        self.bias = nn.Parameter(drawn(seed + 1, [width]))
        self.column_major, self.comm, self.passes = call["column_major"], comm, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A pass."""
        number, self.passes = self.passes, self.passes + 1
        note(self.comm, f"forward {number}")
        y = torch.tanh(x @ self.weight + self.bias)
        y = y.mT.contiguous().mT if self.column_major else y
        return NoteBackward.apply(y, self, number) if self.comm is not None else y


def batch_of(call: dict) -> list[torch.Tensor]:
    """The micro-batches."""
    return [drawn(call["seed"] + 500 + number, [rows, call["width"]]) for number, rows in enumerate(call["rows"])]


def losses_of(call: dict, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The parts of the mean loss, one for each micro-batch."""
    count = sum(call["rows"]) * call["width"]
    targets = [drawn(call["seed"] + 700 + number, each.shape) for number, each in enumerate(outputs)]
    return [
        (output - target.to(output.device)).square().sum() / count
        for output, target in zip(outputs, targets, strict=True)
    ]


def left_before(call: dict, number: int) -> list[torch.Tensor]:
    """What is in `.grad` of a stage's parameters before the call; zeros stand for None."""
    width, seed = call["width"], call["seed"] + 900 + 10 * number
    return [drawn(seed + place, shape) * call["before"] for place, shape in enumerate(([width, width], [width]))]
