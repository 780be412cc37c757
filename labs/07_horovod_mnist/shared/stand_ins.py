"""What stands for a gradient and for an accuracy, where `train` uses the functions that the check gives it."""

from __future__ import annotations

import torch


def score(model: torch.nn.Module, samples: int) -> float:
    """What the stand-in for an evaluation returns: between 0 and 1, another number for each model and set."""
    values = torch.cat([each.detach().double().flatten().cpu() for each in model.parameters()])
    return float(torch.sigmoid(values.sum() / 10 + samples / 7))


def push(model: torch.nn.Module, rank: int) -> None:
    """The stand-in for a gradient: each rank its own."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, 0.1 * (rank + 1))
