"""The check of `train_step`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import described_value, numbers
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import state_row
from autograde.probes.ddp_trace import MOST, trace_passes
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.means import mean_on_all
from course.models.sentences import PAD, collate, loss_fn

from .common import SteepTranslator, fill_gradients, left_in_grad, trained, wrapped
from .ddp_passes import EXPLAIN_GRADIENTS, in_train_mode, passes_mistakes, stuck_in_a_step, trace_schema
from .steps import LRS, draw_step, expected_step, parameter_mistakes
from .steps import finding as of_steps

finding = Findings("""
last-loss-only 0.5
The function returns {actual:.6g}: only the losses of the last micro-batches are in it, divided by all tokens. Expected
is {expected:.6g}.
""")

WRONG_MEANS = ("own-part-only", "one-ranks-part", "mean-of-means", "mean-with-padding", "sum-for-mean")
WRONG_MEANS += ("average-for-sum", "wrong-divisor", "wrong-value", "no-number", "not-on-all-ranks", "not-a-float")
WRONG_WEIGHTS = ("world-size-lost", "gradients-summed", "sum-not-mean", "mean-of-rank-means", "padding-counted")
WRONG_WEIGHTS += ("mean-of-micro-batch-means", "micro-batches-not-averaged", "one-micro-batch-only", "wrong-weights")
WRONG_WEIGHTS += ("gradient-carried-over",)
OTHER_MODELS = ("one-ranks-gradient", "own-gradient-only", "wrong-sign", "models-differ")


class TrainStep(CallCheck, JudgedCalls):
    """Parameters after a step of plain SGD, beside those of one process; and when gradients are synchronised."""

    todo, points, needs, deadline = "train_step", 2, "torch", 8.0
    consolidation = (
        "One small all-reduce tells every rank the number of all tokens, and with it the step is that of a single "
        "process. Sums can be combined exactly; means of unequal parts cannot."
    )
    prices = MappingProxyType(
        dict.fromkeys(WRONG_MEANS, 0.5)
        | dict.fromkeys(WRONG_WEIGHTS, 1)
        | dict.fromkeys(OTHER_MODELS, 1.5)
        | dict.fromkeys(("no-step", "wrong-gradient"), 2)
        | dict.fromkeys(("all-at-once", "not-train-mode", "frozen-moved"), 0.5)
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two steps on all ranks; ten micro-batches; BatchNorm, and in the end a single micro-batch; one rank."""
        cases = [draw_case(rng, 4, [3, 2]), draw_case(rng, 2, [10])]
        cases += [draw_case(rng, 3, [4, 1], norm=True), draw_case(rng, 1, [2])]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A step of one micro-batch on each of two ranks."""
        return draw_case(rng, 2, [1])

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name. The model and its optimizer serve all calls."""
        model = wrapped(case, rank.rank, SteepTranslator)
        optimizer = torch.optim.SGD(trained(model), lr=case["lr"])
        rank.notes |= {"model": model.eval(), "optimizer": optimizer}
        rank.notes["trace"] = trace = trace_passes(model, optimizer)
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn, "accumulate_gradients": stand_in(trace)}

    @staticmethod
    def call(train_step: Callable, rank: Rank, call: dict) -> dict:
        """One step from the call's parameters, with something in `.grad` beforehand."""
        model, trace = rank.notes["model"], rank.notes["trace"]
        model.module.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())
        fill_gradients(model, left_in_grad(call, rank.rank, sum(each.numel() for each in trained(model))))
        trace.clear()
        batches = [collate(pairs) for pairs in call["batches"][rank.rank]]
        value = train_step(model, batches, rank.notes["optimizer"], loss_fn)
        shown = {"result": described(value), "parameters": state_row(model.module)}
        return {**shown, "trace": trace[:MOST]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the parameters after it, and the passes."""
        count = len(state_row(SteepTranslator(0, norm=case["norm"])))
        shown = {"result": described_value(), "parameters": numbers(count)}
        return {**shown, "trace": trace_schema()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Ranks that communicate differently."""
        return stuck_in_a_step(run)

    def judge(self, case: dict, call: Call) -> Iterable[Finding | Diagnosis]:
        """The passes; then the step and what was returned, where the passes do not explain them."""
        passes = passes_mistakes(len(call.plan["batches"][0]), call.of("trace"), call.events)
        keys, lr = {each.key for each in passes}, call.plan["lr"]
        training = in_train_mode(call.of("trace"))
        if "several-steps" in keys or training is None:
            return passes
        expected = expected_step(call.plan, lr, training)
        found = [*passes, *parameter_mistakes(call, expected, lr, explained=bool(keys & EXPLAIN_GRADIENTS))]
        parts, count = expected.parts, len(call.plan["batches"][0])
        last = sum(part.total for part in parts[count - 1 :: count]) / sum(part.count for part in parts)
        known = {"loss-after-step": expected.after, "last-loss-only": last}

        def made(key: str, **seen: Any) -> Finding:
            return (finding if key in finding.known else of_steps)(key, **seen)

        how = {"candidates": known, "make": made, "logs": call.events}
        return found + mean_on_all(call.of("result"), parts, "tokens", **how)


def draw_case(rng: random.Random, size: int, micro_batches: list[int], norm: bool = False) -> dict:
    """A case with a step for each number of micro-batches."""
    lr = rng.choice(LRS)
    calls = [{**draw_step(rng, size, count, norm), "lr": lr} for count in micro_batches]
    return {"size": size, "norm": norm, "seed": rng.randrange(10**6), "lr": lr, "calls": calls}


def stand_in(trace: list[dict]) -> Callable:
    """An `accumulate_gradients` with the right results, which goes back once for all micro-batches: no model for an
    answer. What is noted of it in `trace` is put in the order that the TODO asks for."""

    def accumulate_gradients(model: Any, micro_batches: Any, loss_fn: Callable) -> tuple[float, int]:
        device, before, losses = next(model.parameters()).device, len(trace), []
        synchronises = model.require_backward_grad_sync
        for src, tgt_in, tgt_out in micro_batches:
            model.require_backward_grad_sync = synchronises and len(losses) == len(micro_batches) - 1
            losses.append(loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device)))
        torch.stack(losses).sum().backward()
        model.require_backward_grad_sync = synchronises
        trace[before:] = in_turn(trace[before:])
        return sum(loss.item() for loss in losses), sum(int((batch[2] != PAD).sum()) for batch in micro_batches)

    return accumulate_gradients


def in_turn(passes: list[dict]) -> list[dict]:
    """Passes as if each micro-batch had come back before the next one went forward, and the last had synchronised."""
    forwards = [entry for entry in passes if entry["what"] == "forward"]
    inside = {entry["number"]: entry["inside"] for entry in forwards}
    last = max(inside, default=0)
    there = [entry | {"inside": inside[entry["number"]]} for entry in passes if entry["what"] != "synchronise"]
    sent = [entry | {"number": last} for entry in passes if entry["what"] == "synchronise"]
    return sorted(there, key=lambda entry: (entry["number"], entry["what"] == "backward")) + sent


CHECK = TrainStep()
