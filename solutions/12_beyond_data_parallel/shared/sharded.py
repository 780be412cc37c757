"""Parameters, their gradients and optimizers, as both sides draw them from a seed."""

from __future__ import annotations

from functools import partial

import torch

from .tensors import drawn

OPTIMIZERS: dict[str, partial[torch.optim.Optimizer]] = {
    "SGD with momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    # With so large an eps the first step is not the same for all gradients of one sign.
    "AdamW": partial(torch.optim.AdamW, lr=0.05, eps=0.5, weight_decay=0.3),
}


def parameters_of(call: dict) -> list[torch.Tensor]:
    """The values of the parameters: the same on all ranks. One of them may be transposed."""
    return [
        drawn(call["seed"] + number, shape, "transposed" if number == call["transposed"] else "plain")
        for number, shape in enumerate(call["shapes"])
    ]


def gradients_of(call: dict, step: int, rank: int) -> list[torch.Tensor | None]:
    """The gradients of a rank in a step. A call's `missing` are pairs of a rank, or -1 for all, and a parameter."""
    seed = call["seed"] + 1000 * (step + 1) + 100 * rank
    return [
        None if [rank, number] in call["missing"] or [-1, number] in call["missing"] else drawn(seed + number, shape)
        for number, shape in enumerate(call["shapes"])
    ]
