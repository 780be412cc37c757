"""The MLPs that are split, as both sides draw them from a seed, and what goes through them."""

from __future__ import annotations

import torch
from torch import nn

from .tensors import drawn

ACTIVATIONS = {"gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}  # of 0, two of them are 0 and one is not
NAMES = ("w1", "b1", "w2", "b2")


def mlp_of(call: dict) -> nn.Sequential:
    """The MLP of a call, in float64: the same on all ranks, and on both sides."""
    d, h, o = call["sizes"]
    mlp = nn.Sequential(nn.Linear(d, h), ACTIVATIONS[call["activation"]](), nn.Linear(h, o)).double()
    with torch.no_grad():
        for number, each in enumerate(mlp.parameters()):
            each.copy_(drawn(call["seed"] + number, each.shape))
    return mlp


def input_of(call: dict) -> torch.Tensor:
    """The x of a call."""
    return drawn(call["seed"] + 50, call["x"], call["layout"])


def upstream_of(call: dict) -> torch.Tensor:
    """The gradient of the output."""
    return drawn(call["seed"] + 60, [*call["x"][:-1], call["sizes"][2]])


def shapes_of(call: dict, rank: int, size: int) -> dict[str, list[int]]:
    """The shapes of a part's parameters. rank, size: in the group."""
    d, h, o = call["sizes"]
    own = len(torch.arange(h).tensor_split(size)[rank])
    return dict(zip(NAMES, ([own, d], [own], [o, own], [o]), strict=True))
