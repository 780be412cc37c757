"""Calls of `load_checkpoint`, each with a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import decoded, judged_in_calls
from autograde.fixtures.stepped import group_device
from autograde.probes.checkpoint_calls import Loaded, loading_call


@judged_in_calls(model="of a file that does not fit, the error is judged", optimizer="as the model")
class Seen(Loaded):
    """stepped: whether the optimizer still has the model's parameters, so that a step moves the model."""

    stepped: bool


def call(load_checkpoint: Callable, rank: CallRank, call: dict) -> Seen:
    """A call for one file, into a model of its own."""
    given = []

    def load(path: str, model: Any, optimizer: Any) -> Any:
        given[:] = model, optimizer
        return load_checkpoint(path, model, optimizer, group_device())

    def stepped() -> dict:
        model, optimizer = given
        held = {id(each) for group in optimizer.param_groups for each in group["params"]}
        return {"stepped": held == {id(each) for each in model.parameters() if each.requires_grad}}

    return decoded(Seen, loading_call(rank, load, call, {"epoch": call["epoch"]}, after=stepped))


PROBE = CallProbe(Seen, call, needs="torch", deadline=10)
