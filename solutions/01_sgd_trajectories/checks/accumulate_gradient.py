"""The check of `accumulate_gradient`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, numbers, optional, record, string
from autograde.contract.trouble import trouble
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import SIZES, NumberedNet, NumberedSet
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.judged import finding as judged
from autograde.verdicts.one_process import finding as of_gradients
from autograde.verdicts.one_process import gradient_mistakes, mean_over_samples, parts_of, row_of

TRAINED = ("weight", "bias")
PARAMETERS = (*TRAINED, "frozen", "unused")

Batch = tuple[torch.Tensor, torch.Tensor]

finding = Findings("""
frozen-has-gradient 1
After the call, a frozen or unused parameter has a gradient, or its `requires_grad` has changed.

mode-changed 1
The model was in {before} mode when your function was called, and is in {after} mode afterwards. Dropout and the like
behave otherwise from then on. Who decides which mode it is in?

none-gradient 2
{error} That is a parameter whose `.grad` is None: it is frozen, or no micro-batch has used it, so `backward` has left
nothing there. Large models often have some.

no-gradient 4
After the call, `.grad` of {names} is None or zero: no micro-batch has left anything there.

backward-changed 1
After the call, `backward` on the model leaves another gradient than before: something that your function registered,
such as a hook, is still there. Remove it before you return.

parameters-moved 2
The parameters have changed, so a step was taken. This function only leaves a gradient; the code that calls it takes the
step.
""")


def draw_problem(rng: random.Random, sizes: list[int], loss: str, *, plain: bool) -> dict:
    """Micro-batches of `sizes` samples. loss: "mse" or "cross_entropy". plain: an easy model, else one with frozen and
    unused parameters, and with gradients left over.
    """
    seeds = {name: rng.randrange(2**31) for name in ("model", "data", "left_over")}
    return {"sizes": sizes, "loss": loss, "plain": plain} | seeds


def build_model(case: dict, record: Any = None) -> NumberedNet:
    """The model of a case."""
    return NumberedNet(case["model"], plain=case["plain"], norm=False, record=record)


def loss_function(case: dict) -> torch.nn.Module:
    """The loss of a case: the mean over its batch."""
    return {"mse": torch.nn.MSELoss, "cross_entropy": torch.nn.CrossEntropyLoss}[case["loss"]]()


def micro_batches(case: dict) -> list[Batch]:
    """The micro-batches of a case, as pairs (inputs [B, 4], targets)."""
    data = NumberedSet(sum(case["sizes"]), case["data"])
    pairs = [data.batch(range(*ends)) for ends in pairwise([0, *accumulate(case["sizes"])])]
    return [(x, x[:, 1:].double().flip(1) if case["loss"] == "mse" else labels) for x, labels in pairs]


def left_over(case: dict) -> torch.Tensor:
    """What lies in `.grad` of `weight` and `bias` before the call, in one row; nothing in the easy case."""
    count = 0 if case["plain"] else sum(SIZES[name] for name in TRAINED)
    return torch.randn(count, generator=torch.Generator().manual_seed(case["left_over"]), dtype=torch.float64)


def everything(batches: list[Batch]) -> list:
    """All numbers of some micro-batches."""
    return [[values.tolist() for values in pair] for pair in batches]


def slopes(model: NumberedNet, case: dict) -> list:
    """The gradient that `backward` leaves for the first micro-batch."""
    inputs, targets = micro_batches(case)[0]
    model.zero_grad()
    loss_function(case)(model(inputs), targets).backward()
    return [getattr(model, name).grad.tolist() for name in TRAINED]


class AccumulateGradient(RankCheck, JudgedRun):
    """Unequal micro-batches, on an easy model and on one with left-over gradients, frozen and unused parameters."""

    todo, points, deadline = "accumulate_gradient", 4, 10.0
    consolidation = (
        "Weighted by their numbers of samples, the micro-batches give exactly the gradient of the whole batch. Memory "
        "limits the micro-batch, not the batch."
    )
    prices = MappingProxyType({"one-micro-batch-only": 3, "wrong-weights": 3})

    def cases(self, rng: random.Random) -> list[dict]:
        """Two models and losses; one micro-batch alone."""
        cases = [
            draw_problem(rng, [5, 2, 3], "mse", plain=True),
            draw_problem(rng, [4, 1, 6, 2], "cross_entropy", plain=False),
            draw_problem(rng, [6], "mse", plain=False),
        ]
        ### BEGIN HIDDEN CASES
        cases += [draw_problem(rng, [1, 7], "mse", plain=False), draw_problem(rng, [6], "cross_entropy", plain=False)]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """One call, on a model that notes which samples it is shown; in eval mode, if there is one micro-batch."""
        accumulate_gradient = subject.load()
        owner = [number for number, size in enumerate(case["sizes"]) for _ in range(size)]
        forwards: list[set[int]] = []
        model = build_model(case, lambda net, ids: forwards.append({owner[each] for each in ids if each < len(owner)}))
        model.train(len(case["sizes"]) > 1)
        mode, left = model.training, left_over(case)
        if len(left):
            model.weight.grad, model.bias.grad = left[:12].reshape(4, 3).clone(), left[12:].clone()
        before = {name: values.clone() for name, values in model.state_dict().items()}
        trained = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
        batches = micro_batches(case)
        accumulate_gradient(model, loss_function(case), batches)
        same = everything(batches) == everything(micro_batches(case))
        grads = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
        flat = {name: grad.detach().to_dense().flatten().tolist() for name, grad in grads.items()}
        thawed = trained != {name: parameter.requires_grad for name, parameter in model.named_parameters()}
        together = any(len(numbers) > 1 for numbers in forwards)
        fresh = build_model(case).train(model.training)
        fresh.load_state_dict(model.state_dict())
        return {
            "grads": {name: flat.get(name) for name in PARAMETERS},
            "moved": [name for name, values in model.state_dict().items() if not torch.equal(values, before[name])],
            "changed": ["micro_batches"] * (not same),
            "modes": [mode, model.training],
            "thawed": thawed,
            "together": together,
            "hooked": not thawed and slopes(model, case) != slopes(fresh, case),
        }

    def shape(self, case: dict) -> dict:
        """All numbers of each parameter's gradient, or null."""
        grads = {name: optional(numbers(SIZES[name])) for name in PARAMETERS}
        names, flags = array(string()), {name: boolean() for name in ("thawed", "together", "hooked")}
        return record(grads=record(**grads), moved=names, changed=names, modes=array(boolean(), 2), **flags)

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """An error on the awkward model alone costs half: the easy one tells of the rest."""
        if run.state != "raised" or case["plain"]:
            return ()
        errors = [rank["error"] for rank in run.ranks if rank["error"]]
        if any("NoneType" in each["message"] and "grad" in (each["source"] or "") for each in errors):
            [said] = trouble(vars(run), self.points / 2)
            return [finding("none-gradient", said.report, error=said.message)]
        return trouble(vars(run), self.points / 2)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """How much each micro-batch counted, beside the mean over all samples; and what else was changed."""
        [seen], found = results, []
        if seen["together"]:
            found.append(of_gradients("all-at-once"))
        found += [judged("argument-changed", which=name) for name in seen["changed"]]
        before, after = ("train" if mode else "eval" for mode in seen["modes"])
        if before != after:
            found.append(finding("mode-changed", before=before, after=after))
        if seen["hooked"]:
            found.append(finding("backward-changed"))
        if seen["thawed"] or any(any(seen["grads"][name] or []) for name in ("frozen", "unused")):
            found.append(finding("frozen-has-gradient"))
        empty = [name for name in TRAINED if not any(value != 0 for value in seen["grads"][name] or [])]
        if empty:
            return [*found, finding("no-gradient", names=" and ".join(empty))]
        parts = parts_of(build_model(case), mean_over_samples(loss_function(case)), [micro_batches(case)], TRAINED)
        left = left_over(case)
        gradient = row_of(seen["grads"]["weight"] + seen["grads"]["bias"])
        wrong = gradient_mistakes(parts, [gradient], [left] if len(left) else [])
        if seen["moved"]:
            also = any(isinstance(each, Finding) or each.otherwise for each in wrong)
            return [*found, replace(finding("parameters-moved"), points=3.0 if also else 2.0)]
        return [*found, *wrong]


CHECK = AccumulateGradient()
