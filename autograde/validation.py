"""Verdict on a validation that the ranks share, as `autograde.ddp_runs.validation_run` saw it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograde.check import Finding, trouble
from autograde.ddp_passes import trace_schema
from autograde.ddp_runs import gradient_row, left_in_grad, whole_state
from autograde.findings import Findings
from autograde.mean_loss import loss_mistakes
from autograde.schema import described_value, numbers, record
from autograde.whole_batch import near, one_thread, parts_of
from course.awkward_translator import AwkwardTranslator
from course.sentences import collate

finding = Findings("""
wrapper-waits 2
A deadlock: before each batch, the forward pass of DistributedDataParallel sends BatchNorm's buffers from rank 0 to all,
and the ranks have different numbers of batches. Is there a way to the model past it?

rank-0-alone 2
A deadlock: only rank 0 runs the model, by DistributedDataParallel, which sends BatchNorm's buffers to all the others.

empty-rank-leaves 2
A deadlock: a rank that has no batch does not make the call that the others wait in.

empty-rank 2
A rank that has no batch {does}. What does it add to the sums?

not-on-all-ranks 2
Rank 0 returns the right number, rank {rank} does not. It is due on all of them.

not-eval-mode 2
The model was not in eval mode when it was validated.

mode-changed 1
The model came in {mode} mode and is left in the other.

model-changed 1.5
After validation, the model's parameters, buffers or gradients are other than before.

graph-built 0.5
Validation records a graph for a backward pass that never comes. That takes memory.
""")


def call_schema(case: dict) -> dict:
    """What a rank tells of one call."""
    model = AwkwardTranslator(0, norm=case["norm"])
    state, gradient = numbers(len(whole_state(model))), numbers(len(gradient_row(model)))
    mode = {"enum": ["train", "eval"]}
    return record(result=described_value(), trace=trace_schema(), mode=mode, state=state, gradient=gradient)


def validation_trouble(case: dict, evidence: dict, points: float) -> list[Finding]:
    """Findings for a run that did not come to its end on every rank, see `autograde.check.trouble`."""
    state, ranks = evidence["state"], evidence["ranks"]
    sent = [sum(event["kind"] == "broadcast" for event in rank["events"]) for rank in ranks]
    if state != "ok" and len(set(sent)) > 1:
        return [finding("wrapper-waits" if any(sent[1:]) else "rank-0-alone", evidence["report"])]
    empty = {rank for rank, own in enumerate(case["shares"]) if not own}
    called = {number for number, rank in enumerate(ranks) if any(event["line"] is not None for event in rank["events"])}
    if state == "hang" and called and empty and not called & empty:
        return [finding("empty-rank-leaves", evidence["report"])]
    errors = {number: rank["error"] for number, rank in enumerate(ranks) if rank["error"]}
    if state == "raised" and errors.keys() <= empty:
        error = next(iter(errors.values()))
        return [finding("empty-rank", evidence["report"], does=f"raises {error['type']}: {error['message']}")]
    return trouble(evidence, points)


@one_thread()
def validation_mistakes(case: dict, mode: str, calls: Sequence[dict]) -> list[Finding]:
    """What is wrong with one call. mode: in which the model came. calls: what each rank tells of it."""
    model, found = AwkwardTranslator(case["seed"], norm=case["norm"]).eval(), []
    passes = [entry for call in calls for entry in call["trace"] if entry["what"] == "forward"]
    if any(entry["training"] for entry in passes):
        return [finding("not-eval-mode")]
    if any(entry["grads"] for entry in passes):
        found.append(finding("graph-built"))
    if any(call["mode"] != mode for call in calls):
        found.append(finding("mode-changed", mode=mode))
    state, count = torch.tensor(whole_state(model), dtype=torch.float64), len(gradient_row(model))
    for rank, call in enumerate(calls):
        left = left_in_grad(case, rank, count)
        if not (near(call["state"], state) and near(call["gradient"], left)):
            found.append(finding("model-changed"))
            break
    size = case["batch_size"]
    cut = [[own[start : start + size] for start in range(0, len(own), size)] for own in case["shares"]]
    parts = parts_of(model, [[collate(pairs) for pairs in own] for own in cut])
    wrong = [loss_mistakes(parts, rank, len(calls), call["result"]) for rank, call in enumerate(calls)]
    elsewhere = [rank for rank, each in enumerate(wrong) if each]
    if not wrong[0] and elsewhere and not {each.key for each in wrong[elsewhere[0]]} <= {"not-a-float"}:
        return [*found, finding("not-on-all-ranks", rank=elsewhere[0])]
    return found + next(filter(None, wrong), [])
