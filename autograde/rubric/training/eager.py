"""Optimizers for eager mode, whose first one does not import torch.compile's compiler: 2.5 s of processor time."""

from __future__ import annotations

import inspect
from typing import TypeVar

import torch

Optimizing = TypeVar("Optimizing", bound=torch.optim.Optimizer)
COMPILED = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")  # torch tells the compiler to skip them


def eager(optimizer: type[Optimizing]) -> type[Optimizing]:
    """A subclass of `optimizer`, one of torch's classes, that makes the same steps, and imports no compiler.

    Its methods are those that torch wraps for torch.compile, without the wrapper, which is what imports. It makes no
    differentiable steps (torch's option `differentiable`).
    """
    methods = {name: inspect.unwrap(getattr(optimizer, name)) for name in COMPILED}
    methods["step"] = torch.no_grad()(inspect.unwrap(optimizer.step))
    return type(optimizer.__name__, (optimizer,), methods)
