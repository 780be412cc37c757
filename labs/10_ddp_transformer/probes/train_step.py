"""Calls of `train_step`, with one model and one optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import unjudged
from autograde.probes.ddp_trace import MOST, trace_passes
from course.models.translator.sentences import PAD, collate, loss_fn

from ..shared.model import GIVEN, fill_gradients, left_in_grad, trained
from .stepping import Stepped, noted_steps, stepped
from .traced import Entry, loaded, modes_of, wrapped


@unjudged(modes="they choose the gradients that are due; the trace has them, too")
class Seen(Stepped):
    """And the passes."""

    trace: list[Entry]


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """What the lab gives, and a right `accumulate_gradients`. The model and its optimizer serve all calls."""
    model = wrapped(case["calls"][0], rank.rank)
    optimizer, trace = torch.optim.SGD(trained(model), lr=case["calls"][0]["lr"]), trace_passes(model)
    rank.notes |= {"model": model.eval(), "optimizer": optimizer, "trace": trace, "rows": noted_steps(model, optimizer)}
    return {**GIVEN, "accumulate_gradients": stand_in(trace)}


def call(train_step: Callable, rank: CallRank, call: dict) -> Seen:
    """One step from the call's parameters, with something in `.grad` beforehand."""
    model, optimizer, trace, rows = (rank.notes[name] for name in ("model", "optimizer", "trace", "rows"))
    loaded(model, call)
    fill_gradients(model, left_in_grad(call["seed"], rank.rank, model))
    trace.clear()
    rows.clear()
    value = train_step(model, [collate(pairs) for pairs in call["batches"][rank.rank]], optimizer, loss_fn)
    passes = [Entry(**each) for each in trace[:MOST]]
    return Seen(**stepped(value, model, rows, modes_of(passes)), trace=passes)


def stand_in(trace: list[dict]) -> Callable:
    """An `accumulate_gradients` with the right results, which goes back once for all micro-batches: no model for an
    answer. What is noted of it in `trace` is put in the order that the TODO asks for."""

    def accumulate_gradients(model: Any, micro_batches: Any, loss_fn: Callable) -> tuple[float, int]:
        device, before, losses = next(model.parameters()).device, len(trace), []
        synchronises = model.require_backward_grad_sync
        for batch in micro_batches:
            model.require_backward_grad_sync = synchronises and len(losses) == len(micro_batches) - 1
            source, shifted, target = (each.to(device) for each in batch)
            losses.append(loss_fn(model(source, shifted), target))
        torch.stack(losses).sum().backward()
        model.require_backward_grad_sync = synchronises
        trace[before:] = in_turn(trace[before:])
        return sum(loss.item() for loss in losses), sum(int((batch[2] != PAD).sum()) for batch in micro_batches)

    return accumulate_gradients


def in_turn(passes: list[dict]) -> list[dict]:
    """Passes as if each micro-batch had come back before the next one went forward, and the last had synchronised."""
    inside = {entry["number"]: entry["inside"] for entry in passes if entry["what"] == "forward"}
    there = [entry | {"inside": inside[entry["number"]]} for entry in passes if entry["what"] != "synchronise"]
    sent = [entry | {"number": max(inside, default=0)} for entry in passes if entry["what"] == "synchronise"]
    return sorted(there, key=lambda entry: (entry["number"], entry["what"] == "backward")) + sent


PROBE = CallProbe(Seen, call, names, needs="torch", deadline=8)
