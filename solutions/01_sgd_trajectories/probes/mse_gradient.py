"""Calls of `mse_gradient` where autograd is off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Number, NumbersByName


class Seen(NumbersByName):
    """dm and dn. raised: the error where autograd is off; then they are those of a call where it is on. recorded:
    whether operations are recorded for a backward pass."""

    raised: str
    recorded: bool


def call(mse_gradient: Callable, rank: CallRank, call: dict) -> Seen:
    """One call where autograd is off; if that raises, another one where it is on."""
    recorded = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        recorded.append(True)
        return tensor

    def once(off: bool) -> Any:
        dtype = getattr(torch, call["dtype"])
        x, y = (rank.argument(name, torch.tensor(call[name], dtype=dtype)) for name in "xy")
        with torch.inference_mode(off), saved_tensors_hooks(note, lambda tensor: tensor):
            return mse_gradient(*call["start"], x, y)

    raised = ""
    try:
        value = once(True)
    except NotImplementedError:
        raise
    except Exception as error:
        raised, value = rank.in_words(error), once(False)
    try:
        dm, dn = map(Number.of, value)
    except (TypeError, ValueError):
        return Seen(type_in_words(value), {}, raised, bool(recorded))
    return Seen("", {"dm": dm, "dn": dn}, raised, bool(recorded))


PROBE = CallProbe(Seen, call, deadline=10)
