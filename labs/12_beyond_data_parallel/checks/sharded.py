"""Parameters, their gradients and optimizers, as both sides draw them from a seed: runs beside the student's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .tensors import drawn, shown

OPTIMIZERS: dict[str, Callable[[list], torch.optim.Optimizer]] = {
    "SGD with momentum": lambda tensors: torch.optim.SGD(tensors, 0.1, momentum=0.9),
    # With so large an eps the first step is not the same for all gradients of one sign.
    "AdamW": lambda tensors: torch.optim.AdamW(tensors, 0.05, eps=0.5, weight_decay=0.3),
}
MOST = 20  # calls of `make`, and tensors in one, that are shown


def parameters_of(plan: dict) -> list[nn.Parameter]:
    """The parameters of a plan: the same on all ranks. One of them may be transposed."""
    layouts = ["transposed" if number == plan["transposed"] else "plain" for number in range(len(plan["shapes"]))]
    return [
        nn.Parameter(drawn(plan["seed"] + number, shape, layout))
        for number, (shape, layout) in enumerate(zip(plan["shapes"], layouts, strict=True))
    ]


def gradients_of(plan: dict, step: int, rank: int) -> list[torch.Tensor | None]:
    """The gradients of a rank in a step. A plan's `missing` are pairs of a rank, or -1 for all, and a parameter."""
    seed = plan["seed"] + 1000 * (step + 1) + 100 * rank
    return [
        None if [rank, number] in plan["missing"] or [-1, number] in plan["missing"] else drawn(seed + number, shape)
        for number, shape in enumerate(plan["shapes"])
    ]


class Making:
    """A `make` that notes what it is given. Everything it has made is in `made`."""

    def __init__(self, name: str) -> None:
        self.name, self.made, self.notes = name, [], []

    def __call__(self, tensors: Any) -> torch.optim.Optimizer:
        """The optimizer for these tensors."""
        tensors = [*tensors]
        note = {"tensors": len(tensors), "first": shown(tensors[0] if tensors else None), "memory": 0}
        if tensors and isinstance(tensors[0], torch.Tensor):
            note["memory"] = tensors[0].untyped_storage().nbytes()
        self.notes = [*self.notes, note][:MOST]
        self.made.append(OPTIMIZERS[self.name](tensors))
        return self.made[-1]
