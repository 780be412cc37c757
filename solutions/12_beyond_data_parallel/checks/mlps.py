"""The MLPs that are split, and the memory behind a part of one: runs beside the student's code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from .tensors import drawn

ACTIVATIONS = {"gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}  # of 0, two of them are 0 and one is not
DEPTH = 6  # of lists and modules inside each other


def mlp_of(plan: dict) -> nn.Sequential:
    """The MLP of a plan, in float64: the same on all ranks, and on both sides."""
    d, h, o = plan["sizes"]
    mlp = nn.Sequential(nn.Linear(d, h), ACTIVATIONS[plan["activation"]](), nn.Linear(h, o)).double()
    with torch.no_grad():
        for number, each in enumerate(mlp.parameters()):
            each.copy_(drawn(plan["seed"] + number, [*each.shape]))
    return mlp


def held(module: nn.Module) -> int:
    """Bytes of the memory in which a module's tensors are, each piece once."""
    storages = [each.untyped_storage() for each in inside(vars(module), DEPTH)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def inside(value: Any, depth: int) -> Iterator[torch.Tensor]:
    """The tensors in a value, and in what it holds."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth >= 0:
        if isinstance(value, nn.Module):
            yield from inside(vars(value), depth)
        elif isinstance(value, dict):
            for each in [*value.values()]:
                yield from inside(each, depth - 1)
        elif isinstance(value, (list, tuple)):
            for each in value:
                yield from inside(each, depth - 1)


def usable(part: nn.Module, plan: dict, rank: int, size: int) -> bool:
    """Whether the parameters of a part have the shapes that a pass needs. rank, size: in the group."""
    d, h, o = plan["sizes"]
    own = len(torch.arange(h).tensor_split(size)[rank])
    due = {"w1": [own, d], "b1": [own], "w2": [o, own], "b2": [o]}
    return {name: [*each.shape] for name, each in part.named_parameters()} == due


def apart(part: nn.Module, mlp: nn.Module) -> bool:
    """Whether no parameter of a part is in the memory of the MLP's."""
    own, whole = ({each.untyped_storage().data_ptr() for each in one.parameters()} for one in (part, mlp))
    return not own & whole
