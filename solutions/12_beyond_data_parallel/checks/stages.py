"""The stages of a pipeline, and what is noted of their passes: runs beside the student's code."""

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
        ctx.stage.note("backward", ctx.number)
        return gradient, None, None


class Stage(nn.Module):
    """A stage: a matrix, a bias and tanh, whose output may be column-major.

    comm: where its passes are noted among the events of the run, by way and number. passes: how many forward passes it
    has made.
    """

    def __init__(self, plan: dict, number: int, comm: Any = None) -> None:
        super().__init__()
        width, seed = plan["width"], plan["seed"] + 10 * number
        self.weight = nn.Parameter(drawn(seed, [width, width]))
        self.bias = nn.Parameter(drawn(seed + 1, [width]))
        self.column_major, self.comm, self.passes = plan["column_major"], comm, 0

    def note(self, way: str, number: int) -> None:
        """Note that a pass begins."""
        note(self.comm, f"{way} {number}")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A pass."""
        number, self.passes = self.passes, self.passes + 1
        self.note("forward", number)
        y = torch.tanh(x @ self.weight + self.bias)
        y = y.mT.contiguous().mT if self.column_major else y
        return NoteBackward.apply(y, self, number) if self.comm is not None else y


def batch_of(plan: dict) -> list[torch.Tensor]:
    """The micro-batches of a plan."""
    return [drawn(plan["seed"] + 500 + number, [rows, plan["width"]]) for number, rows in enumerate(plan["rows"])]


def losses_of(plan: dict, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The parts of the mean loss, one for each micro-batch."""
    count = sum(plan["rows"]) * plan["width"]
    targets = [drawn(plan["seed"] + 700 + number, [*each.shape]) for number, each in enumerate(outputs)]
    return [
        (output - target.to(output.device)).square().sum() / count
        for output, target in zip(outputs, targets, strict=True)
    ]
