"""Calls of `one_rank_step`: several steps with one model and one optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from course.models.translator.sentences import collate, loss_fn

from ..shared.model import GIVEN, SteepTranslator, fill_gradients, left_in_grad, trained
from .stepping import Stepped, noted_steps, stepped


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """What the lab gives. The model and its optimizer serve all calls."""
    model = SteepTranslator(0, norm=case["calls"][0]["norm"]).to(rank.torch_device).eval()
    optimizer, modes = torch.optim.SGD(trained(model), lr=case["calls"][0]["lr"]), []
    model.register_forward_pre_hook(lambda module, args: modes.append(module.training))
    rank.notes |= {"model": model, "optimizer": optimizer, "modes": modes, "rows": noted_steps(model, optimizer)}
    return {**GIVEN}


def call(one_rank_step: Callable, rank: CallRank, call: dict) -> Stepped:
    """One step from the call's parameters, with something in `.grad` beforehand."""
    model, optimizer, modes, rows = (rank.notes[name] for name in ("model", "optimizer", "modes", "rows"))
    model.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())
    fill_gradients(model, left_in_grad(call["seed"], 0, model))
    modes.clear()
    rows.clear()
    value = one_rank_step(model, collate(call["batches"][0][0]), optimizer, loss_fn)
    return Stepped(**stepped(value, model, rows, modes))


PROBE = CallProbe(Stepped, call, names, deadline=8)
