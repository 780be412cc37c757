"""Calls of `synchronize_start`, with a model and an optimizer of each rank's own."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.fixtures.numbered_net import NumberedNet, state_of
from autograde.probes.simulated_node import on_node

from .averaging import AveragingSGD


class Seen(Evidence):
    """What a rank has afterwards. model: its state. momentum: of each parameter that is trained, if there is any."""

    model: dict[str, list[float | None]]
    momentum: list[list[float | None] | None]
    lr: float | None


def call(synchronize_start: Callable, rank: CallRank, call: dict) -> Seen:
    """One call. Ranks that are `moving` come with momentum, 0.5 and the rank's number."""
    own = rank.rank
    model = NumberedNet(call["models"][own])
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = AveragingSGD(model.parameters(), rank.comm, lr=call["rates"][own], momentum=0.9)
    for parameter in trained if call["moving"][own] else ():
        optimizer.state[parameter]["momentum_buffer"] = torch.full_like(parameter, 0.5 + own)
    synchronize_start(model, optimizer)
    moving = [optimizer.state.get(each, {}).get("momentum_buffer") for each in trained]
    momentum = [None if each is None else each.detach().flatten().tolist() for each in moving]
    return Seen(state_of(model), momentum, float(optimizer.param_groups[0]["lr"]))


PROBE = CallProbe(Seen, call, around=on_node, needs="horovod", deadline=20)
