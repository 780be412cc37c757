"""Calls of `repaired_step`, in which waits for the device and forward passes are counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, Number

from ..shared.small_steps import before_of, loss_fn, micro_batches, model_of

# What gives Python a number, or the host an array, of a tensor: where that is on a GPU, the process waits for it.
PYTHON = ("bool", "float", "int", "index", "complex", "array", "format", "repr", "str")
WAITS = frozenset(
    ["item", "tolist", "numpy", "cpu", "equal", "allclose", "nonzero", *(f"__{each}__" for each in PYTHON)]
)


class Seen(Evidence):
    """loss: what is returned. grads: `.grad` of each parameter. waits: for the device. passes: forward passes."""

    loss: Number
    grads: list[Array]
    waits: int
    passes: int


class Waits(TorchFunctionMode):
    """Counts what waits for the device."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Count it, and call it."""
        caller = sys._getframe(1).f_globals.get("__name__", "")
        self.count += getattr(func, "__name__", "") in WAITS and not caller.startswith("course.watch")  # which notes
        return func(*args, **kwargs or {})


def call(repaired_step: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, with a model and micro-batches of its own."""
    model, passes = model_of(call), []
    for parameter, before in zip(model.parameters(), before_of(call, rank.rank), strict=True):
        parameter.grad = before
    model.register_forward_pre_hook(lambda *_: passes.append(1))
    with Waits() as waits:
        loss = repaired_step(model, micro_batches(call, rank.rank), loss_fn)
    return Seen(Number.of(loss), [Array.of(each.grad) for each in model.parameters()], waits.count, len(passes))


PROBE = CallProbe(Seen, call, needs="torch")
