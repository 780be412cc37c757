"""What a module holds: tensors, also those in lists and in other modules, and where its parameters are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

DEPTH = 6  # of lists and modules inside each other


def inside(value: Any, depth: int = DEPTH) -> Iterator[torch.Tensor]:
    """The tensors in a value, and in what it holds."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth >= 0:
        held = vars(value) if isinstance(value, nn.Module) else value
        for each in [*held.values()] if isinstance(held, dict) else held if isinstance(held, (list, tuple)) else ():
            yield from inside(each, depth - 1)


def places(module: nn.Module) -> set[int]:
    """Where the memory of the parameters is."""
    return {each.untyped_storage().data_ptr() for each in module.parameters()}
