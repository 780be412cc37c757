"""The check of `one_rank_step`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, numbers, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import state_row
from autograde.verdicts import one_process
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.means import TOLERANCE
from autograde.verdicts.numbers import on_all
from course.models.sentences import PAD, collate, loss_fn

from .common import SteepTranslator, fill_gradients, host_batch, left_in_grad, trained
from .on_host import NAMES, Unmoved
from .steps import LRS, draw_step, expected_step, parameter_mistakes, unmoved_mistakes
from .steps import finding as of_steps

MOST = 20  # forward passes that a probe tells

finding = Findings("""
loss-not-divided 0.5
The function returns {actual:.6g}, the sum of the losses of {count} tokens. Expected is their mean: {expected:.6g}.

loss-with-padding 0.5
The function returns {actual:.6g}: the sum of the losses divided by all {places} places in the batch. {count} of them
are tokens, so {expected:.6g} is expected.

loss-per-sentence 0.5
The function returns {actual:.6g}: the sum of the losses divided by the number of sentences. Expected is the mean over
the tokens: {expected:.6g}.
""")


class OneRankStep(CallCheck, JudgedCalls):
    """Parameters after a step of plain SGD with one batch, and the loss that is returned."""

    todo, points, deadline = "one_rank_step", 2, 8.0
    consolidation = (
        "The mean loss per token is the sum divided by the number of tokens that count. Padding is in the tensors, "
        "and neither in the loss nor in that number."
    )
    prices = MappingProxyType(
        dict.fromkeys(("sum-not-mean", "padding-counted", "gradient-carried-over", "wrong-weights"), 1)
        | {"wrong-sign": 1.5, "no-step": 2, "wrong-gradient": 2, "wrong-value": 1, "no-number": 1}
        | {"not-a-float": 0.5, "not-train-mode": 0.5, "frozen-moved": 0.5}
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Several steps with one model; with BatchNorm and without."""

        def case(calls: int, norm: bool) -> dict:
            drawn = [draw_step(rng, 1, 1, norm) for _ in range(calls)]
            return {"size": 1, "norm": norm, "lr": rng.choice(LRS), "calls": drawn}

        cases = [case(3, False), case(2, True)]
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name. The model and its optimizer serve all calls."""
        model = SteepTranslator(0, norm=case["norm"])
        optimizer, unmoved, modes = torch.optim.SGD(trained(model), lr=case["lr"]), Unmoved(), []
        unmoved.inputs_of(model)
        model.register_forward_pre_hook(lambda module, args: modes.append(module.training))
        rank.notes |= {"model": model.eval(), "optimizer": optimizer, "unmoved": unmoved, "modes": modes}
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}

    @staticmethod
    def call(one_rank_step: Callable, rank: Rank, call: dict) -> dict:
        """One step from the call's parameters, with something in `.grad` beforehand."""
        model, unmoved, modes = rank.notes["model"], rank.notes["unmoved"], rank.notes["modes"]
        model.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())
        fill_gradients(model, left_in_grad(call, 0, sum(each.numel() for each in trained(model))))
        unmoved.names.clear()
        modes.clear()
        batch = host_batch(call["batches"][0][0])
        value = one_rank_step(model, batch, rank.notes["optimizer"], unmoved.loss_fn(loss_fn))
        shown = {"result": described(value), "parameters": state_row(model)}
        return {**shown, "unmoved": sorted(unmoved.names), "modes": modes[:MOST]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the parameters after it, what was not moved, and the mode of each forward pass."""
        count = len(state_row(SteepTranslator(0, norm=case["norm"])))
        names, modes = array(string(), most=len(NAMES)), array(boolean(), most=MOST)
        return {"result": described_value(), "parameters": numbers(count), "unmoved": names, "modes": modes}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """Where the batch was, and the model's mode; then the step and what was returned."""
        found: list[Finding | Diagnosis] = [*unmoved_mistakes(call)]
        if not all(call.of("modes")[0]):
            return [*found, one_process.finding("not-train-mode")]
        expected = expected_step(call.plan, case["lr"])
        (part,), sentences = expected.parts, len(call.plan["batches"][0][0])
        candidates = {"loss-not-divided": part.total, "loss-with-padding": part.total / part.places}
        candidates |= {"loss-per-sentence": part.total / sentences, "loss-after-step": expected.after}

        def made(key: str, **seen: Any) -> Finding:
            return (finding if key in finding.known else of_steps)(key, count=part.count, places=part.places, **seen)

        found += parameter_mistakes(call, expected, case["lr"])
        return found + on_all(call.of("result"), part.total / part.count, candidates, made, tolerance=TOLERANCE)


CHECK = OneRankStep()
