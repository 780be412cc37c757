"""Checks of lab 01: a gradient by hand, the path of SGD, gradients accumulated over micro-batches.

Expected gradients come from autograd. A path is judged by the samples that its steps used, not by how it shuffles.
"""

from __future__ import annotations

import math
import random
from types import MappingProxyType
from typing import Any

import torch

from autograde.check import Check, Finding, trouble
from course import awkward, line_fit, sgd_steps, shares

RANKS = 1


def gradient_run(subject: Any, case: dict) -> dict:
    """Call `mse_gradient` where autograd is off; where that raises, also where it is on."""
    mse_gradient = subject.load()

    def call(inference: bool) -> dict:
        x, y = line_fit.tensors(case)
        with torch.inference_mode(inference):
            returned = mse_gradient(*case["start"], x, y)
        seen = {"changed": not all(map(torch.equal, (x, y), line_fit.tensors(case)))}
        try:
            values = [float(value.item() if hasattr(value, "item") else value) for value in returned]
            return seen | ({"values": values} if len(values) == 2 else {"problem": f"{len(values)} numbers"})
        except Exception as error:
            return seen | {"problem": f"`{type(returned).__name__}` ({type(error).__name__}: {error})"}

    try:
        return call(inference=True)
    except NotImplementedError:
        raise
    except Exception as error:
        return call(inference=False) | {"raised": f"{type(error).__name__}: {error}".splitlines()[0]}


class MseGradient(Check):
    """The gradient of the mean squared error at random points, in both precisions."""

    todo, points = "mse_gradient", 2
    costs = MappingProxyType({"x-forgotten": 1.5})  # the others cost 1

    def cases(self, rng: random.Random) -> list[dict]:
        """Batches of several sizes."""
        draw = line_fit.draw_line_problem
        cases = [draw(rng, 7), draw(rng, 5, "float32")]
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One call on one rank."""
        return world.attempt(gradient_run, subject, case, size=1, deadline=10).plain()

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Compare with autograd, and with what the known mistakes would give."""
        if found := trouble(evidence, self.points):
            return found
        seen = evidence["ranks"][0]["result"]
        if "raised" in seen:
            text = f"Under torch.inference_mode() it raised {seen['raised']}. Elsewhere it ran: do without autograd."
            found.append(Finding("uses-backward", text, 1))
        if seen["changed"]:
            found.append(Finding("arguments-changed", "After the call, x or y holds other numbers than before.", 0.5))
        if "problem" in seen:
            text = f"Two numbers, dm and dn, are due for a batch of {len(case['x'])}. You return {seen['problem']}."
            return [*found, Finding("not-two-numbers", text, self.points)]
        mistakes = line_fit.gradient_mistakes(case["x"], case["y"], case["start"], seen["values"])
        if mistakes is None:
            due = line_fit.sample_gradients(case["x"], case["y"], [case["start"]])[0].mean(0).tolist()
            text = "At m = {:g}, n = {:g} you return ({:.5g}, {:.5g}). The loss changes by {:.5g} per m, {:.5g} per n."
            text = text.format(*case["start"], *seen["values"], *due)
            return [*found, Finding("wrong-gradient", text, self.points)]
        text = "Your gradient beside the measured slope of the loss: {}."
        return found + [Finding(key, text.format(line_fit.MISTAKES[key]), self.costs.get(key, 1)) for key in mistakes]


def one_path(sgd_path: Any, case: dict, seed: int, noise: int) -> dict:
    """Call `sgd_path` with the global random generators in some state, and tell what came back."""
    import numpy

    for set_seed in (torch.manual_seed, random.seed, numpy.random.seed):
        set_seed(noise)
    x, y = line_fit.tensors(case)
    path = sgd_path(x, y, case["batch_size"], case["lr"], case["epochs"], tuple(case["start"]), seed)
    seen = {"kind": f"`{type(path).__name__}`", "why": "", "rows": [], "attached": False}
    seen["changed"] = not all(map(torch.equal, (x, y), line_fit.tensors(case)))
    if isinstance(path, torch.Tensor):
        kind, shape = str(path.dtype).removeprefix("torch."), list(path.shape)
        seen |= {"kind": f"a {kind} tensor", "why": f" of shape {shape}", "attached": path.requires_grad}
        path = path.detach()
    try:
        return seen | {"rows": [[float(value) for value in row] for row in path]}
    except Exception as error:
        return seen | {"why": f"{seen['why']} ({type(error).__name__}: {error})"}


def path_runs(subject: Any, case: dict) -> list[list[dict]]:
    """Runs of three calls each, of which the first two have the same seed.

    A cell that calls `mse_gradient` gets a stand-in. The student's own may return floats or tensors, and `sgd_path` may
    rely on that: each kind is tried, and the best run counts.
    """
    runs, errors = [], []
    for kind in line_fit.NUMBER_KINDS:
        calls: list[str] = []
        try:
            sgd_path = subject.load(mse_gradient=line_fit.gradient_stand_in(kind, calls))
            runs.append([one_path(sgd_path, case, seed, noise) for noise, seed in enumerate(case["seeds"])])
        except NotImplementedError:
            raise
        except Exception as error:
            errors.append(error)
        if not calls:
            break
    if not runs:
        raise errors[0]
    return runs


class SgdPath(Check):
    """Paths on few samples, so that each step tells which samples it used."""

    todo, points = "sgd_path", 4
    costs = MappingProxyType(
        {"wrong-step": 4, "rows-all-equal": 4, "wrong-number-of-steps": 3, "x-y-torn": 3, "wrong-sign": 3}
        | {"whole-set-each-step": 3, "last-batch-dropped": 1.5, "last-batch-divided-by-batch-size": 1.5}
        | {"wrong-batch-size": 1.5, "same-order-every-epoch": 1.5, "batches-not-cut-anew": 1, "start-missing": 1}
        | {"last-row-missing": 1, "factor-two": 1}
    )  # the other mistakes of a path cost 2

    def cases(self, rng: random.Random) -> list[dict]:
        """Single samples; batches that do not divide the samples; one batch larger than the set."""
        cases = [self.draw(rng, 12, 1, 3), self.draw(rng, 9, 4, 4), self.draw(rng, 5, 8, 3)]
        return cases

    def draw(self, rng: random.Random, samples: int, batch_size: int, epochs: int, dtype: str = "float64") -> dict:
        """One case."""
        seed, other = rng.sample(range(100_000), 2)
        setting = {"batch_size": batch_size, "epochs": epochs, "lr": rng.choice((0.04, 0.05, 0.07))}
        return line_fit.draw_line_problem(rng, samples, dtype) | setting | {"seeds": [seed, seed, other]}

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """Some calls on one rank."""
        return world.attempt(path_runs, subject, case, size=1, deadline=10).plain()

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The best of the runs counts: after a faultless one, the others are not looked at."""
        if found := trouble(evidence, self.points):
            return found
        runs = evidence["ranks"][0]["result"]
        judged = [self.judge_run(case, runs[0])]
        while judged[-1] and len(judged) < len(runs):
            judged.append(self.judge_run(case, runs[len(judged)]))
        return min(judged, key=lambda found: sum(finding.points for finding in found))

    def judge_run(self, case: dict, run: list[dict]) -> list[Finding]:
        """Findings for three calls, of which the first two have the same seed."""
        (seen, again, other), (seed, _, another) = run, case["seeds"]
        found = []
        if seen["changed"]:
            found.append(Finding("arguments-changed", "After the call, x or y holds other numbers than before.", 1))
        if seen["attached"]:
            text = "The path still requires grad: it keeps the graphs of all its steps alive."
            found.append(Finding("not-detached", text, 0.5))
        rows = seen["rows"]
        if not rows or any(len(row) != 2 for row in rows):
            text = f"A tensor [steps + 1, 2] of points (m, n) is due. You return {seen['kind']}{seen['why']}."
            return [*found, Finding("not-a-path", text, self.points)]
        if seen["kind"] != f"a {case['dtype']} tensor":
            found.append(Finding("wrong-dtype", f"x is a {case['dtype']} tensor, the path {seen['kind']}.", 0.5))
        if bad := [number for number, row in enumerate(rows) if not all(map(math.isfinite, row))]:
            return [*found, Finding("not-finite", f"Row {bad[0]} is {rows[bad[0]]}.", self.points)]
        setting = {name: case[name] for name in ("start", "lr", "batch_size", "epochs")}
        mistakes, facts = sgd_steps.judge_path(case["x"], case["y"], torch.tensor(rows, dtype=torch.float64), **setting)
        facts |= {**case, "n": len(case["x"]), "size": case["batch_size"], "rows": len(rows)}
        found += [Finding(key, sgd_steps.MISTAKES[key].format(**facts), self.costs.get(key, 2)) for key in mistakes]
        if case["batch_size"] < len(case["x"]) and not {"wrong-step", "rows-all-equal"} & {*mistakes}:
            if not sgd_steps.same_path(rows, again["rows"]):
                found.append(Finding("not-reproducible", f"Two calls with seed {seed} give different paths.", 1))
            elif sgd_steps.same_path(rows, other["rows"]) and not {"not-shuffled", "whole-set-each-step"} & {*mistakes}:
                found.append(Finding("seed-ignored", f"Seeds {seed} and {another} give the same path.", 1))
        return found


def accumulation(subject: Any, case: dict) -> dict:
    """Call `accumulate_gradient` on a model that notes which samples it is shown."""
    accumulate_gradient = subject.load()
    owner = {tuple(row): number for number, batch in enumerate(case["inputs"]) for row in batch}
    forwards: list[list[int]] = []

    def record(inputs: torch.Tensor) -> None:
        try:
            forwards.append(sorted({owner.get(tuple(row), -1) for row in inputs.tolist()}))
        except Exception:  # inputs of a kind that a student's code made: not to be told apart
            forwards.append([])

    model = awkward.build_model(case, record)
    trained = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    before = {name: values.clone() for name, values in model.state_dict().items()}
    batches = awkward.micro_batches(case)
    accumulate_gradient(model, awkward.loss_function(case), batches)
    now = [[values.tolist() for values in pair] for pair in batches]
    kept = now == [list(pair) for pair in zip(case["inputs"], case["targets"], strict=True)]
    grads = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {
        "grads": {name: grad.detach().to_dense().flatten().tolist() for name, grad in grads.items()},
        "moved": [name for name, values in model.state_dict().items() if not torch.equal(values, before[name])],
        "changed": not (kept and model.training),
        "thawed": trained != {name: parameter.requires_grad for name, parameter in model.named_parameters()},
        "together": any(len(numbers) > 1 for numbers in forwards),
    }


class AccumulateGradient(Check):
    """Unequal micro-batches, on an easy model and on one with left-over gradients, frozen and unused parameters."""

    todo, points = "accumulate_gradient", 4
    costs = MappingProxyType({"only-one-part": 3, "wrong-sign": 3, "wrong-weights": 3})  # the others cost 2

    def cases(self, rng: random.Random) -> list[dict]:
        """Two models and losses."""
        draw = awkward.draw_awkward_problem
        cases = [draw(rng, [5, 2, 3], "mse", awkward=False), draw(rng, [4, 1, 6, 2], "cross_entropy", awkward=True)]
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One call on one rank."""
        return world.attempt(accumulation, subject, case, size=1, deadline=10).plain()

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Compare with autograd on all samples at once; then see how much each micro-batch counted."""
        only_here = case["awkward"] and evidence["state"] == "raised"  # the easy model tells of the rest
        if found := trouble(evidence, self.points / 2 if only_here else self.points):
            return found
        seen = evidence["ranks"][0]["result"]
        if seen["together"]:
            found.append(Finding("all-at-once", "One forward pass held samples of several micro-batches.", 2))
        if seen["changed"]:
            text = "After the call the micro-batches, or whether the model trains, are not as they were before."
            found.append(Finding("arguments-changed", text, 1))
        strays = [name for name in ("frozen", "unused") if any(seen["grads"].get(name) or [])]
        if strays or seen["thawed"]:
            text = "A frozen or unused parameter has a gradient now, or another `requires_grad`."
            found.append(Finding("frozen-has-gradient", text, 1))
        grads = {name: seen["grads"].get(name) for name in ("weight", "bias")}
        if missing := [name for name, values in grads.items() if values is None]:
            text = f"`.grad` of {' and '.join(missing)} is None after the call."
            return [*found, Finding("no-gradient", text, self.points)]
        wrong = self.compare(case, grads)
        if seen["moved"]:
            text = "The parameters changed: a step was made. That is for whoever calls this function."
            return [*found, Finding("parameters-moved", text, 3 if wrong else 2)]
        return found + wrong

    def compare(self, case: dict, grads: dict) -> list[Finding]:
        """Findings for the gradient: how much of each micro-batch, and of what lay there before, is in it."""
        batches, left_over = awkward.micro_batches(case), case["left_over"]
        got = torch.tensor(grads["weight"] + grads["bias"], dtype=torch.float64)
        due = awkward.mean_gradient(case, batches)
        if bool(((got - due).abs() <= line_fit.TOLERANCE * due.abs().max()).all()):
            return []
        parts = [awkward.mean_gradient(case, [batch]) for batch in batches]
        if left_over:
            parts.append(torch.tensor(left_over, dtype=torch.float64))
        weights = shares.weights_of(got, parts)
        if weights is None:
            text = "`.grad` is no sum of the micro-batches' gradients at these parameters, however each is weighted."
            return [Finding("wrong-gradient", text, self.points)]
        found = []
        if left_over and abs(weights[-1]) > 1e-3:
            text = "The gradient that lay in `.grad` before the call is still in it."
            found.append(Finding("gradient-carried-over", text, 2))
        sizes, weights = [len(inputs) for inputs, _ in batches], weights[: len(batches)]
        if bool((weights.abs() <= 1e-3).all()):
            return [*found, Finding("no-gradient", "`.grad` holds nothing of any micro-batch.", self.points)]
        if key := shares.averaging_mistake(weights, sizes):
            counts = ", ".join(f"{round(weight, 3) + 0:g}" for weight in weights.tolist())
            text = f"Micro-batches of {', '.join(map(str, sizes))} samples: their mean gradients count {counts} times."
            found.append(Finding(key, f"{text} That is {shares.MISTAKES[key]}.", self.costs.get(key, 2)))
        return found


CHECKS = [MseGradient(), SgdPath(), AccumulateGradient()]
