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
from autograde.contract.schema import array, boolean, described_value, numbers
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import state_row
from autograde.verdicts import one_process
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.means import TOLERANCE
from autograde.verdicts.numbers import on_all
from course.models.sentences import PAD, collate, loss_fn

from .common import SteepTranslator, fill_gradients, left_in_grad, trained
from .steps import LRS, draw_step, expected_step, parameter_mistakes
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
        cases = [draw_case(rng, 3, False), draw_case(rng, 2, True)]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """One step."""
        return draw_case(rng, 1, False)

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name. The model and its optimizer serve all calls."""
        model = SteepTranslator(0, norm=case["norm"]).to(rank.torch_device)
        optimizer, modes = torch.optim.SGD(trained(model), lr=case["lr"]), []
        model.register_forward_pre_hook(lambda module, args: modes.append(module.training))
        rank.notes |= {"model": model.eval(), "optimizer": optimizer, "modes": modes}
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}

    @staticmethod
    def call(one_rank_step: Callable, rank: Rank, call: dict) -> dict:
        """One step from the call's parameters, with something in `.grad` beforehand."""
        model, modes = rank.notes["model"], rank.notes["modes"]
        model.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())
        fill_gradients(model, left_in_grad(call, 0, sum(each.numel() for each in trained(model))))
        modes.clear()
        batch = collate(call["batches"][0][0])
        value = one_rank_step(model, batch, rank.notes["optimizer"], loss_fn)
        shown = {"result": described(value), "parameters": state_row(model)}
        return {**shown, "modes": modes[:MOST]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the parameters after it, and the mode of each forward pass."""
        count = len(state_row(SteepTranslator(0, norm=case["norm"])))
        return {"result": described_value(), "parameters": numbers(count), "modes": array(boolean(), most=MOST)}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The model's mode; then the step and what was returned."""
        modes = {*call.of("modes")[0]}
        found = [one_process.finding("not-train-mode")] if False in modes else []
        if len(modes) > 1:
            return found
        expected = expected_step(call.plan, case["lr"], training=modes != {False})
        (part,), sentences = expected.parts, len(call.plan["batches"][0][0])
        candidates = {"loss-not-divided": part.total, "loss-with-padding": part.total / part.places}
        candidates |= {"loss-per-sentence": part.total / sentences, "loss-after-step": expected.after}

        def made(key: str, **seen: Any) -> Finding:
            return (finding if key in finding.known else of_steps)(key, count=part.count, places=part.places, **seen)

        found += parameter_mistakes(call, expected, case["lr"])
        return found + on_all(call.of("result"), part.total / part.count, candidates, made, tolerance=TOLERANCE)


def draw_case(rng: random.Random, calls: int, norm: bool) -> dict:
    """A case with so many steps."""
    drawn = [draw_step(rng, 1, 1, norm) for _ in range(calls)]
    return {"size": 1, "norm": norm, "lr": rng.choice(LRS), "calls": drawn}


CHECK = OneRankStep()
