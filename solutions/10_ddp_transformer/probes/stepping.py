"""What a step of an optimizer shows: when it comes, and with which gradients."""

from __future__ import annotations

from math import isfinite
from typing import Any

import torch
from torch import Tensor

from autograde.contract.evidence import Evidence, Number, judged_in_places, unjudged

from ..shared.model import gradients_of, parameters_of


@unjudged(gradients_after="it chooses words")
@judged_in_places(modes="how many passes there are is judged by the gradients")
class Stepped(Evidence):
    """One call on one rank. value: what it returned. modes: of each forward pass, whether it was in train mode. steps:
    of the optimizer. gradients: in a row, at its first step; gradients_after, parameters: after the call. None stands
    for what is not finite."""

    value: Number
    modes: list[bool]
    steps: int
    gradients: list[float | None]
    gradients_after: list[float | None]
    parameters: list[float | None]


def plain(row: Tensor) -> list[float | None]:
    """A row of numbers."""
    return [each if isfinite(each) else None for each in row.tolist()]


def noted_steps(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[list[float | None]]:
    """Grows by the gradients of `model` whenever `optimizer` makes a step, which may begin by calling a closure; may be
    cleared."""
    rows: list[list[float | None]] = []

    def note(optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if closure is None:
            rows.append(plain(gradients_of(model)))
            return None

        def noted() -> Any:
            value = closure()
            rows.append(plain(gradients_of(model)))
            return value

        return args[:1], {**kwargs, "closure": noted}

    optimizer.register_step_pre_hook(note)
    return rows


def stepped(value: Any, model: torch.nn.Module, rows: list, modes: list[bool]) -> dict[str, Any]:
    """The fields of `Stepped`. rows: of `noted_steps`."""
    after = {"gradients_after": plain(gradients_of(model)), "parameters": plain(parameters_of(model))}
    return {
        "value": Number.of(value),
        "modes": modes[:20],
        "steps": len(rows),
        "gradients": rows[0] if rows else [],
        **after,
    }
