"""Calls of `evaluate`, with a model that notes what it is shown, and says the same in train mode as in eval mode."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Evidence, Number, judged_in_calls
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet
from autograde.probes.simulated_node import on_node
from autograde.probes.weighed_part import WeighedProbe


class Pass(Evidence):
    """A forward pass. ids: of the samples. train: the mode. graph: whether one is recorded for a backward pass."""

    ids: list[int]
    train: bool
    graph: bool


@judged_in_calls(passes="where there are fewer samples than ranks, the value is judged")
class Seen(Evidence):
    """What a rank returned, and what its model was shown. train: its mode in the end. records: whether torch records
    gradients then."""

    value: Number
    train: bool
    records: bool
    passes: list[Pass]


def call(evaluate: Callable, rank: CallRank, call: dict) -> Seen:
    """One call. What is switched off in torch is switched on again."""
    passes: list[Pass] = []

    def shown(net: NumberedNet, ids: list[int]) -> None:
        graph = torch.is_grad_enabled() and any(each.requires_grad for each in net.parameters())
        passes.append(Pass(ids, net.training, graph))

    model = NumberedNet(call["model"], norm=False, record=shown).to(rank.torch_device).train(call["train"])
    data = NumberedSet(len(call["labels"]), call["data"], call["labels"])
    value = evaluate(model, data, rank.torch_device)
    records = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return Seen(Number.of(value), model.training, records, passes)


PROBE = WeighedProbe(Seen, call, around=on_node, needs="horovod", deadline=20)
