"""Calls of `validate`, with a model of its own each, in whose `.grad` something lies beforehand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Array, Evidence, Number, judged_in_calls, judged_in_places
from autograde.fixtures.awkward_translator import AwkwardTranslator
from autograde.fixtures.stepped import group_device
from autograde.probes.ddp_trace import MOST, buffers_noted, trace_passes
from autograde.probes.weighed_part import WeighedProbe
from course.models.translator.sentences import collate, loss_fn

from ..shared.model import fill_gradients, given_names, gradients_of, left_in_grad, state_of


class Pass(Evidence):
    """A forward pass. train: the mode. graph: whether one is recorded for a backward pass."""

    train: bool
    graph: bool


@judged_in_places(passes="how many there are is judged by the value")
@judged_in_calls(broadcasts="one rank alone waits for nobody")
class Seen(Evidence):
    """What a rank returned. passes: of its model. train: the model's mode in the end. records: whether torch records
    gradients then. broadcasts: how often the wrapper would have sent rank 0's buffers to all. state, gradients: of the
    model, in a row."""

    value: Number
    passes: list[Pass]
    train: bool
    records: bool
    broadcasts: int
    state: Array
    gradients: Array


def call(validate: Callable, rank: CallRank, call: dict) -> Seen:
    """One call. What is switched off in torch is switched on again."""
    device = group_device()
    gpu = [device] if device.type == "cuda" else None
    inside = AwkwardTranslator(call["seed"], norm=call["norm"]).to(device)
    model = DistributedDataParallel(inside, device_ids=gpu)
    broadcasts = buffers_noted(model)
    trace = trace_passes(model)
    model.train(call["train"])
    fill_gradients(inside, left_in_grad(call["seed"], rank.rank, inside))
    loader = DataLoader(call["shares"][rank.rank], call["batch_size"], collate_fn=collate)
    value = validate(model, loader, loss_fn)
    records = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    passes = [Pass(each["training"], each["grads"]) for each in trace[:MOST] if each["what"] == "forward"]
    after = Array.of(state_of(inside)), Array.of(gradients_of(inside))
    return Seen(Number.of(value), passes, model.training and inside.training, records, len(broadcasts), *after)


PROBE = WeighedProbe(Seen, call, given_names, needs="torch", deadline=8)
