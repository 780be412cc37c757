"""Models and micro-batches of `accumulate_gradient`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

import torch

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet


def model_of(call: dict, record: Callable | None = None) -> NumberedNet:
    """The model of a call; with frozen and unused parameters where the call has any. record: see `NumberedNet`."""
    return NumberedNet(call["seed"], plain=not call["frozen"], norm=False, record=record)


def loss_of(call: dict) -> torch.nn.Module:
    """The loss of a call: the mean over its batch."""
    return {"mse": torch.nn.MSELoss, "cross_entropy": torch.nn.CrossEntropyLoss}[call["loss"]]()


def batches_of(call: dict) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The micro-batches of a call, as pairs (inputs [B, 4], targets)."""
    data = NumberedSet(sum(call["sizes"]), call["seed"] + 1)
    pairs = [data.batch(range(*ends)) for ends in pairwise([0, *accumulate(call["sizes"])])]
    return [(x, x[:, 1:].double().flip(1) if call["loss"] == "mse" else labels) for x, labels in pairs]


def left_over(call: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """What lies in `.grad` of the weight [4, 3] and the bias [4] before the call, where something does."""
    generator = torch.Generator().manual_seed(call["seed"] + 2)
    weight, bias = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 3), (4,)))
    return weight, bias
