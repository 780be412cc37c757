"""Calls of `parallelize` for the ranks' own device, and for GPUs that are only simulated."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Array, Evidence, unjudged
from autograde.fixtures.awkward_translator import AwkwardTranslator
from autograde.fixtures.stepped import group_device
from autograde.probes.ddp_trace import recorded_wrapping
from course.models.translator.sentences import collate, loss_fn

from ..shared.model import gradients_of, parameters_of

LOCAL_SIZE = 2  # ranks on each simulated node


@unjudged(kind="it chooses words")
class Seen(Evidence):
    """kind: of what is returned. wraps: whether it is a DistributedDataParallel around the given model, or would be but
    for its `device_ids`. device: where the rank computes. moved: where the model was last moved to before. device_ids,
    options: that were given; these are names of others that are not at their defaults. parameters, gradients: after a
    backward pass, on the ranks' own device."""

    kind: str
    wraps: bool
    device: str
    moved: str
    device_ids: list[str]
    options: list[str]
    parameters: Array | None = None
    gradients: Array | None = None


def call(parallelize: Callable, rank: CallRank, call: dict) -> Seen:
    """`parallelize`, and one backward pass where that can be."""
    number = rank.rank % LOCAL_SIZE
    device = torch.device("cuda", number) if call["simulated"] else group_device()
    model, calls, returned, refused = AwkwardTranslator(call["seed"] + rank.rank, norm=True), [], None, False
    with recorded_wrapping(calls, number if call["simulated"] else None, LOCAL_SIZE):
        try:
            returned = parallelize(model, device)
        except ValueError:  # what DistributedDataParallel raises for device_ids that do not fit
            refused = any(each["device_ids"] for each in calls)
            if not refused:
                raise
    places = [place for place, each in enumerate(calls) if each["what"] == "wrap"]
    last = calls[places[-1]] if places else {"device_ids": None, "options": []}
    moves = [each["device"] for each in calls[: places[-1] if places else 0] if each["what"] == "to"]
    fits = isinstance(returned, DistributedDataParallel) and returned.module is model
    seen = {"kind": type_in_words(returned), "wraps": bool(places) and (fits or refused), "device": str(device)}
    seen |= {"moved": moves[-1] if moves else "cpu", "device_ids": last["device_ids"] or [], "options": last["options"]}
    if fits and not call["simulated"]:
        src, tgt_in, tgt_out = (tensor.to(device) for tensor in collate(call["pairs"][rank.rank]))
        loss_fn(returned(src, tgt_in), tgt_out).backward()
        seen |= {"parameters": Array.of(parameters_of(model)), "gradients": Array.of(gradients_of(model))}
    return Seen(**seen)


PROBE = CallProbe(Seen, call, needs="torch", deadline=8)
