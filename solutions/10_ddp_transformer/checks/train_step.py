"""The check of `train_step`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import described_value, numbers
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, state_row
from autograde.probes.ddp_trace import MOST, trace_passes
from autograde.verdicts import one_process
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.means import mean_of, mean_on_all
from course.models.sentences import PAD, collate, loss_fn

from .common import fill_gradients, left_in_grad, token_loss, trained, wrapped
from .ddp_passes import EXPLAIN_ALL, EXPLAIN_GRADIENTS, passes_mistakes, stuck_in_a_step, trace_schema

finding = Findings("""
loss-after-step 1
The loss that is returned is the one after the step: {actual:.6g}. The one before it is expected: {expected:.6g}.
""")


class TrainStep(CallCheck, JudgedCalls):
    """Parameters after a step of plain SGD, beside those of one process; and when gradients are synchronised."""

    todo, points, needs, deadline = "train_step", 6, "torch", 8.0
    prices = MappingProxyType(
        dict.fromkeys(("own-part-only", "one-ranks-part", "mean-of-means", "mean-with-padding"), 1)
        | dict.fromkeys(("sum-for-mean", "average-for-sum", "wrong-divisor", "all-at-once", "not-train-mode"), 1)
        | {"wrong-value": 1.5, "no-number": 1.5, "not-on-all-ranks": 1.5, "not-a-float": 0.5}
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two steps on all ranks; ten micro-batches; BatchNorm, and in the end a single micro-batch."""

        def case(size: int, micro_batches: list[int], norm: bool = False) -> dict:
            lr = rng.choice((0.05, 0.1, 0.2))
            calls = [{"batches": draw_batches(rng, size, count)} for count in micro_batches]
            calls = [{**call, "norm": norm, "lr": lr, "seed": rng.randrange(10**6)} for call in calls]
            return {"size": size, "norm": norm, "seed": rng.randrange(10**6), "lr": lr, "calls": calls}

        cases = [case(4, [3, 2]), case(2, [10]), case(3, [4, 1], norm=True)]
        ### BEGIN HIDDEN CASES
        cases += [case(3, [2]), case(4, [2, 3, 1], norm=True)]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name. The model and its optimizer serve all calls."""
        model = wrapped(case, rank.rank)
        optimizer = torch.optim.SGD(trained(model), lr=case["lr"])
        rank.notes |= {"model": model.eval(), "optimizer": optimizer, "trace": trace_passes(model, optimizer)}
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}

    @staticmethod
    def call(train_step: Callable, rank: Rank, call: dict) -> dict:
        """One step from the call's parameters, with something in `.grad` beforehand."""
        model, trace = rank.notes["model"], rank.notes["trace"]
        model.module.load_state_dict(AwkwardTranslator(call["seed"], norm=call["norm"]).state_dict())
        fill_gradients(model, left_in_grad(call, rank.rank, sum(each.numel() for each in trained(model))))
        trace.clear()
        batches = [collate(pairs) for pairs in call["batches"][rank.rank]]
        value = train_step(model, batches, rank.notes["optimizer"], loss_fn)
        return {"result": described(value), "parameters": state_row(model.module), "trace": trace[:MOST]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the parameters after it, and the passes."""
        count = len(state_row(AwkwardTranslator(0, norm=case["norm"])))
        return {"result": described_value(), "parameters": numbers(count), "trace": trace_schema()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Ranks that communicate differently."""
        return stuck_in_a_step(run)

    def judge(self, case: dict, call: Call) -> Iterable[Finding | Diagnosis]:
        """The passes; then the step and what was returned, where the passes do not explain them."""
        batches = call.plan["batches"]
        found = passes_mistakes(len(batches[0]), call.of("trace"), call.events)
        keys = {each.key for each in found}
        if not keys & EXPLAIN_ALL:
            found += step_mistakes(call, bool(keys & EXPLAIN_GRADIENTS))
        return found


@one_process.one_thread()
def step_mistakes(call: Call, explained: bool) -> list[Finding | Diagnosis]:
    """What is wrong with one step of plain SGD, and with what was returned.

    explained: whether it is known already why the gradients are wrong.
    """
    plan, lr = call.plan, call.plan["lr"]
    model = AwkwardTranslator(plan["seed"], norm=plan["norm"])
    batches = [[collate(pairs) for pairs in of_rank] for of_rank in plan["batches"]]
    parts, before = one_process.parts_of(model, token_loss, batches), one_process.row_of(state_row(model))
    expected = one_process.expected_gradient(parts)
    with torch.no_grad():
        vector_to_parameters(parameters_to_vector(trained(model)) - lr * expected, trained(model))
    after = mean_of(one_process.parts_of(model, token_loss, batches))
    moving = torch.cat([torch.full((each.numel(),), each.requires_grad) for each in model.parameters()])
    steps = [(before - one_process.row_of(row)) / lr for row in call.of("parameters")]
    left = [left_in_grad(plan, rank, len(expected)) for rank in range(call.size)]
    used = [step[moving] for step in steps]
    found = [] if explained else one_process.gradient_mistakes(parts, used, left, "tokens")
    if any(bool((step[~moving] != 0).any()) for step in steps):
        found.append(one_process.finding("frozen-moved"))
    how = {"candidates": {"loss-after-step": after}, "make": finding, "logs": call.events}
    return found + mean_on_all(call.of("result"), parts, "tokens", **how)


CHECK = TrainStep()
