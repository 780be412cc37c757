"""A model in DistributedDataParallel that notes its passes, for several calls."""

from __future__ import annotations

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.evidence import Evidence, judged_in_places, unjudged
from autograde.fixtures.stepped import group_device

from ..shared.model import SteepTranslator


@unjudged(inside="it chooses words")
@judged_in_places(number="that of a synchronisation is judged")
class Entry(Evidence):
    """What happened, see `autograde.probes.ddp_trace.trace_passes`."""

    what: str
    number: int
    inside: bool
    training: bool
    grads: bool
    wrapped: bool


def wrapped(call: dict, rank: int) -> DistributedDataParallel:
    """The model, wrapped; before that, every rank has other weights."""
    torch.manual_seed(1000 + rank)
    device = group_device()
    gpu = [device] if device.type == "cuda" else None
    return DistributedDataParallel(SteepTranslator(call["seed"] + rank, norm=call["norm"]).to(device), device_ids=gpu)


def loaded(model: DistributedDataParallel, call: dict) -> None:
    """Put the call's parameters and buffers into the model."""
    model.module.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())


def modes_of(passes: list[Entry]) -> list[bool]:
    """Of each forward pass in a training, whether the model was in train mode."""
    return [each.training for each in passes if each.what == "forward" and each.grads]
