"""One step of plain SGD on all ranks: how its cases are drawn, and what is wrong with it beside that of one process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import draw_batches, state_row
from autograde.verdicts import one_process
from autograde.verdicts.judged import Call
from autograde.verdicts.means import mean_of
from course.models.sentences import collate

from .common import SteepTranslator, left_in_grad, token_loss, trained

finding = Findings("""
loss-after-step 0.5
The function returns {actual:.6g}, the loss after the step. Expected is the loss before it: {expected:.6g}.
""")

STEEPEST = 10.0  # norm that each expected gradient has at least: clipping, mostly to 1 or 5, must not go unseen
LRS = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Expected:
    """What one process makes of a call's micro-batches: the parts, the parameters before, the mean loss after a step.

    batches of `parts`: of all ranks. moving: which of the parameters, [p], are not frozen.
    """

    parts: list[one_process.Part]
    before: Tensor
    after: float
    moving: Tensor


def draw_step(rng: random.Random, size: int, micro_batches: int, norm: bool) -> dict:
    """The micro-batches of a step on `size` ranks, by rank, and a seed for which the model's gradient is large."""
    while True:
        drawn = {"batches": draw_batches(rng, size, micro_batches), "norm": norm, "seed": rng.randrange(10**6)}
        if steep(drawn):
            return drawn


def steep(plan: dict) -> bool:
    """Whether the gradient of the mean loss, and that of each micro-batch's mean, have a norm of STEEPEST at least."""
    parts = parts_of(plan, SteepTranslator(plan["seed"], norm=plan["norm"]))
    rows = [one_process.expected_gradient(parts), *(part.gradient / part.count for part in parts)]
    return min(float(row.norm()) for row in rows) >= STEEPEST


def parts_of(plan: dict, model: torch.nn.Module) -> list[one_process.Part]:
    """Each micro-batch of each rank, at the model's parameters."""
    batches = [[collate(pairs) for pairs in of_rank] for of_rank in plan["batches"]]
    return one_process.parts_of(model, token_loss, batches)


def expected_step(plan: dict, lr: float, training: bool = True) -> Expected:
    """What one process makes of it, by plain SGD with this learning rate. training: whether in train mode."""
    model = SteepTranslator(plan["seed"], norm=plan["norm"]).train(training)
    parts, before = parts_of(plan, model), one_process.row_of(state_row(model))
    gradient = one_process.expected_gradient(parts)
    with torch.no_grad():
        vector_to_parameters(parameters_to_vector(trained(model)) - lr * gradient, trained(model))
    after = mean_of(parts_of(plan, model))
    moving = torch.cat([torch.full((each.numel(),), each.requires_grad) for each in model.parameters()])
    return Expected(parts, before, after, moving)


def uphill(parts: Sequence[one_process.Part], used: Sequence[Tensor], left: Sequence[Tensor]) -> bool:
    """Whether each micro-batch that is in a rank's step counts against it there, whatever else is wrong.

    used, left: what the ranks stepped with, and what lay in `.grad` before, [d] each.
    """
    weights = [one_process.weights_of(step, [*(part.gradient for part in parts), *left]) for step in used]
    total = sum(part.count for part in parts)
    shares = [own[: len(parts)] * total for own in weights if own is not None]
    against = [bool((own <= one_process.WEIGHT).all() and (own < -one_process.WEIGHT).any()) for own in shares]
    return len(against) == len(used) and all(against)


def parameter_mistakes(call: Call, expected: Expected, lr: float, explained: bool = False) -> list[Finding | Diagnosis]:
    """What is wrong with the parameters after a step of plain SGD.

    explained: whether it is known already why the gradients are wrong.
    """
    steps = [(expected.before - one_process.row_of(row)) / lr for row in call.of("parameters")]
    left = [left_in_grad(call.plan, rank, int(expected.moving.sum())) for rank in range(call.size)]
    used = [step[expected.moving] for step in steps]
    leads_uphill = not explained and uphill(expected.parts, used, left)
    found = [one_process.finding("wrong-sign")] if leads_uphill else []
    steps_made = [-step for step in used] if leads_uphill else used
    found += one_process.gradient_mistakes(expected.parts, steps_made, left, "tokens")
    if explained:
        found = [each for each in found if isinstance(each, Finding) and each.key == "no-step"]
    if any(bool((step[~expected.moving] != 0).any()) for step in steps):
        found.append(one_process.finding("frozen-moved"))
    return found
