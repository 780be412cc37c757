"""Steps of the optimizer that `make_optimizer` makes, on samples of each rank's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, unjudged
from autograde.fixtures.numbered_net import TRAINED, NumberedNet, NumberedSet, leave_gradient, state_of
from autograde.probes.simulated_node import on_node

OPTIONS = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")  # of SGD, that change its steps
PARAMETERS = (*TRAINED, "frozen")


@unjudged(kind="it chooses words")
class Seen(Evidence):
    """What was made. kind: its type. options: of an optimizer, None for those that it has not; empty for anything else.
    names: how Horovod calls the parameters that are trained, None if it is not Horovod's. states: PARAMETERS of
    the model, after each step. unused: whether there is a wrapper besides, which averages gradients that it is not to
    step with."""

    kind: str
    options: dict[str, float | None]
    names: list[str] | None
    states: list[dict[str, list[float | None]]]
    unused: bool


def call(make_optimizer: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, and a step for each of the orders."""
    model, data, states = NumberedNet(call["model"]), NumberedSet(call["samples"], call["data"]), []
    optimizer = make_optimizer(model, call["lr"])
    if not isinstance(optimizer, torch.optim.Optimizer):
        return Seen(type(optimizer).__name__, {}, None, [], False)
    about = type(optimizer).__name__, options_of(optimizer), names_in(optimizer, model)
    for order in call["orders"]:
        try:
            leave_gradient(model, data, order[rank.rank])
        except AssertionError:  # of Horovod's, which counts backward passes of a wrapper that makes no step
            return Seen(*about, states, True)
        optimizer.step()
        states.append({name: own for name, own in state_of(model).items() if name in PARAMETERS})
    return Seen(*about, states, False)


def options_of(optimizer: torch.optim.Optimizer) -> dict[str, float | None]:
    """Its OPTIONS, as numbers."""
    options = {name: optimizer.param_groups[0].get(name) for name in OPTIONS}
    return {name: None if value is None else float(value) for name, value in options.items()}


def names_in(optimizer: Any, model: NumberedNet) -> list[str] | None:
    """How Horovod calls the TRAINED parameters."""
    names, parameters = getattr(optimizer, "_parameter_names", None), dict(model.named_parameters())
    return None if names is None else [str(names.get(parameters[name])) for name in TRAINED]


PROBE = CallProbe(Seen, call, around=on_node, needs="horovod", deadline=20)
