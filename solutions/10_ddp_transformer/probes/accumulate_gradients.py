"""Calls of `accumulate_gradients` with one model, without gradients beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, Values, unjudged
from autograde.probes.ddp_trace import MOST, trace_passes
from course.models.translator.sentences import collate, loss_fn

from ..shared.model import GIVEN, gradients_of
from .traced import Entry, loaded, modes_of, wrapped


@unjudged(modes="they choose the gradients that are due; the trace has them, too")
class Seen(Evidence):
    """totals: what is returned. attached: whether that has a graph for gradients. gradients: afterwards, in a row.
    modes: of each forward pass, whether it was in train mode."""

    totals: Values
    attached: bool
    gradients: Array
    modes: list[bool]
    trace: list[Entry]


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """What the lab gives. The model serves all calls."""
    model = wrapped(case["calls"][0], rank.rank).train()
    rank.notes |= {"model": model, "trace": trace_passes(model)}
    return {**GIVEN}


def attached(value: Any) -> bool:
    """Whether a value, or one in it, has a graph for gradients."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(each, torch.Tensor) and each.requires_grad for each in values)


def call(accumulate_gradients: Callable, rank: CallRank, call: dict) -> Seen:
    """One call at the call's parameters."""
    model, trace = rank.notes["model"], rank.notes["trace"]
    loaded(model, call)
    model.zero_grad()
    trace.clear()
    batches = [collate(pairs) for pairs in call["batches"][rank.rank]]
    value = accumulate_gradients(model, batches, loss_fn)
    passes = [Entry(**each) for each in trace[:MOST]]
    gradients = Array.of(gradients_of(model))
    return Seen(Values.of(value, 2), attached(value), gradients, modes_of(passes), passes)


PROBE = CallProbe(Seen, call, names, needs="torch", deadline=8)
