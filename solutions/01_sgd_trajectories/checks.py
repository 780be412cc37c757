"""Checks of lab 01: a gradient by hand, the path of SGD, gradients accumulated over micro-batches.

Expected gradients come from autograd. A path is judged by the samples that its steps used, not by how it shuffles.
"""

from __future__ import annotations

import math
import random
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from autograde.check import Check, Finding, trouble
from autograde.schema import array, boolean, numbers, optional, outcome, record, string
from course import awkward, line_fit, sgd_steps

RANKS = 1


def gradient_run(subject: Any, case: dict) -> dict:
    """Call `mse_gradient` where autograd is off; where that raises, also where it is on."""
    mse_gradient = subject.load()

    def call(inference: bool) -> dict:
        x, y = line_fit.tensors(case)
        with torch.inference_mode(inference):
            returned = mse_gradient(*case["start"], x, y)
        changed = not all(map(torch.equal, (x, y), line_fit.tensors(case)))
        seen = {"values": None, "problem": None, "raised": None, "changed": changed}
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
        ### BEGIN HIDDEN CASES
        cases += [draw(rng, 1), draw(rng, 9)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One call on one rank."""
        return world.attempt(gradient_run, subject, case, size=1, deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """Two numbers, or why there are not two."""
        values, text = optional(numbers(2)), optional(string())
        return outcome(1, record(values=values, problem=text, raised=text, changed=boolean()))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Compare with autograd, and with what the known mistakes would give."""
        if found := trouble(evidence, self.points):
            return found
        seen = evidence["ranks"][0]["result"]
        if seen["raised"]:
            text = f"Under torch.inference_mode() it raised {seen['raised']}. Elsewhere it ran: do without autograd."
            found.append(Finding("uses-backward", text, 1))
        if seen["changed"]:
            found.append(Finding("arguments-changed", "After the call, x or y holds other numbers than before.", 0.5))
        if (pair := seen["values"]) is None:
            text = f"Two numbers, dm and dn, are due for a batch of {len(case['x'])}. You return {seen['problem']}."
            return [*found, Finding("not-two-numbers", text, self.points)]
        pair = [math.nan if value is None else value for value in pair]
        mistakes = line_fit.gradient_mistakes(case["x"], case["y"], case["start"], pair)
        if mistakes is None:
            text = "For a batch of {} you return ({:.5g}, {:.5g}). A small step changes the loss by other amounts."
            return [*found, Finding("wrong-gradient", text.format(len(case["x"]), *pair), self.points)]
        text = "Your gradient beside the measured slope of the loss: {}."
        return found + [Finding(key, text.format(line_fit.MISTAKES[key]), self.costs.get(key, 1)) for key in mistakes]


def one_path(sgd_path: Any, case: dict, seed: int, noise: int) -> dict:
    """Call `sgd_path` with the global random generators in some state, and tell what came back."""
    for set_seed in (torch.manual_seed, random.seed, np.random.seed):
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
        ### BEGIN HIDDEN CASES
        cases += [self.draw(rng, 12, 5, 4, "float32"), self.draw(rng, 9, 3, 4), self.draw(rng, 13, 1, 3, "float32")]
        ### END HIDDEN CASES
        return cases

    def draw(self, rng: random.Random, samples: int, batch_size: int, epochs: int, dtype: str = "float64") -> dict:
        """One case."""
        seed, other = rng.sample(range(100_000), 2)
        setting = {"batch_size": batch_size, "epochs": epochs, "lr": rng.choice((0.04, 0.05, 0.07))}
        return line_fit.draw_line_problem(rng, samples, dtype) | setting | {"seeds": [seed, seed, other]}

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """Some calls on one rank."""
        return world.attempt(path_runs, subject, case, size=1, deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """Up to three runs of three calls, each with its rows."""
        call = record(kind=string(), why=string(), rows=array(numbers()), attached=boolean(), changed=boolean())
        return outcome(1, array(array(call, 3), least=1, most=len(line_fit.NUMBER_KINDS)))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The best of the runs counts: after a faultless one, the others are not looked at."""
        if found := trouble(evidence, self.points):
            return found
        runs = evidence["ranks"][0]["result"]
        judged = [self.judge_run(case, runs[0])]
        while judged[-1] and len(judged) < len(runs):
            judged.append(self.judge_run(case, runs[len(judged)]))
        return min(judged, key=lambda found: sum(each.points for each in found))

    def judge_run(self, case: dict, run: list[dict]) -> list[Finding]:
        """Findings for three calls, of which the first two have the same seed."""
        (seen, again, other), (seed, _, another) = run, case["seeds"]
        found, mistakes = self.judge_call(case, seen)
        if {"not-a-path", "not-finite", "wrong-step", "rows-all-equal"} & mistakes:
            return found
        if not mistakes:  # that this path is right says nothing of the others
            more = [each for call in (again, other) if call != seen for each in self.judge_call(case, call)[0]]
            found = [*{each.key: each for each in [*more, *found]}.values()]
        if case["batch_size"] < len(case["x"]):
            if not sgd_steps.same_path(seen["rows"], again["rows"]):
                found.append(Finding("not-reproducible", f"Two calls with seed {seed} give different paths.", 1))
            elif sgd_steps.same_path(seen["rows"], other["rows"]) and not sgd_steps.FIXED & mistakes:
                found.append(Finding("seed-ignored", f"Seeds {seed} and {another} give the same path.", 1))
        return found

    def judge_call(self, case: dict, seen: dict) -> tuple[list[Finding], set[str]]:
        """Findings for one call, and the keys of those that its path gets."""
        text = "After the call, x or y holds other numbers than before."
        found = [Finding("arguments-changed", text, 1)] if seen["changed"] else []
        if seen["attached"]:
            text = "The path still requires grad: it keeps the graphs of all its steps alive."
            found.append(Finding("not-detached", text, 0.5))
        rows = seen["rows"]
        if not rows or any(len(row) != 2 for row in rows):
            text = f"A tensor [steps + 1, 2] of points (m, n) is due. You return {seen['kind']}{seen['why']}."
            return [*found, Finding("not-a-path", text, self.points)], {"not-a-path"}
        if seen["kind"] != f"a {case['dtype']} tensor":
            found.append(Finding("wrong-dtype", f"x is a {case['dtype']} tensor, the path {seen['kind']}.", 0.5))
        if bad := [number for number, row in enumerate(rows) if None in row]:
            return [*found, Finding("not-finite", f"A number in row {bad[0]} is not finite.", 4)], {"not-finite"}
        setting = {name: case[name] for name in ("start", "lr", "batch_size", "epochs")}
        mistakes, facts = sgd_steps.judge_path(case["x"], case["y"], torch.tensor(rows, dtype=torch.float64), **setting)
        facts |= {**case, "n": len(case["x"]), "size": case["batch_size"], "rows": len(rows)}
        found += [Finding(key, sgd_steps.MISTAKES[key].format(**facts), self.costs.get(key, 2)) for key in mistakes]
        return found, {*mistakes}


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
    told = {name: grad.detach().to_dense().flatten().tolist() for name, grad in grads.items()}
    return {
        "grads": {name: told.get(name) for name in awkward.SIZES},
        "moved": [name for name, values in model.state_dict().items() if not torch.equal(values, before[name])],
        "changed": not (kept and model.training),
        "thawed": trained != {name: parameter.requires_grad for name, parameter in model.named_parameters()},
        "together": any(len(numbers) > 1 for numbers in forwards),
    }


class AccumulateGradient(Check):
    """Unequal micro-batches, on an easy model and on one with left-over gradients, frozen and unused parameters."""

    todo, points = "accumulate_gradient", 4
    costs = MappingProxyType(  # the others cost 2
        {"wrong-gradient": 4, "no-gradient": 4, "only-one-part": 3, "wrong-sign": 3, "wrong-weights": 3}
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two models and losses."""
        draw = awkward.draw_awkward_problem
        cases = [draw(rng, [5, 2, 3], "mse", awkward=False), draw(rng, [4, 1, 6, 2], "cross_entropy", awkward=True)]
        ### BEGIN HIDDEN CASES
        cases += [draw(rng, [1, 7], "mse", awkward=True), draw(rng, [6], "cross_entropy", awkward=False)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One call on one rank."""
        return world.attempt(accumulation, subject, case, size=1, deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """All numbers of each parameter's gradient, or null."""
        grads = {name: optional(numbers(size)) for name, size in awkward.SIZES.items()}
        flags = dict.fromkeys(("changed", "thawed", "together"), boolean())
        return outcome(1, record(grads=record(**grads), moved=array(string()), **flags))

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
        strays = [name for name in ("frozen", "unused") if any(each != 0 for each in seen["grads"][name] or [])]
        if strays or seen["thawed"]:
            text = "A frozen or unused parameter has a gradient now, or another `requires_grad`."
            found.append(Finding("frozen-has-gradient", text, 1))
        if missing := [name for name in ("weight", "bias") if seen["grads"][name] is None]:
            return [*found, Finding("no-gradient", f"`.grad` of {' and '.join(missing)} is None after the call.", 4)]
        mistakes = awkward.gradient_mistakes(case, seen["grads"]["weight"] + seen["grads"]["bias"])
        wrong = [Finding(key, text, self.costs.get(key, 2)) for key, text in mistakes]
        if seen["moved"]:
            text = "The parameters changed: a step was made. That is for whoever calls this function."
            return [*found, Finding("parameters-moved", text, 3 if wrong else 2)]
        return found + wrong


CHECKS = [MseGradient(), SgdPath(), AccumulateGradient()]
