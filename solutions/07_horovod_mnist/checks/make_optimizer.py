"""The check of `make_optimizer`: its learning rate, its options, and how it combines the ranks' gradients."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, number, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import (
    SIZES,
    TRAINED,
    NumberedNet,
    NumberedSet,
    leave_gradient,
    state_of,
    vector_of,
)
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts import one_process
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.replicas import Replicas, Rules, close, cut_into_batches, same_state

from .common import MOMENTUM, STATE, deadlock, seeds

OPTIONS = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")  # of SGD, that change its steps

finding = Findings("""
no-optimizer 3
The function returns a value of type {kind}; expected is an optimizer.

lr-not-scaled 1.5
On {size} ranks the learning rate is {lr:g}, as for one. Gradients are averaged: a step for the batches of {size} ranks
is as long as a step for one batch.

lr-scaled-by-local-size 1.5
The learning rate is {times:g} times that of one rank. There are {size} ranks, {local} of them on each node. How many
batches go into a step?

lr-scaled-twice 1.5
The learning rate is {times:g} times that of one rank, on {size} ranks: it is scaled more than once.

wrong-lr 1.5
The learning rate is {times:g} times that of one rank, on {size} ranks.

momentum 1.5
The optimizer has momentum {momentum:g}; expected is {expected:g}. It counts from the second step on.

sgd-options 1
The optimizer has {options}, which is not SGD's default.

wrong-first-step 4
The first step is not exactly what SGD makes of the averaged gradients: the weights differ by more than rounding. Is
anything else done to the gradients on their way from rank to rank?

wrong-later-step 2
The first step is right, but step {step} is not what SGD with this momentum makes of the averaged gradients.

no-parameter-names 1
Horovod calls one of the parameters {name!r}, which is not its name in the model. It matches the ranks' gradients by
name.

not-by-horovod 3
The steps are right, but the optimizer is not Horovod's, which averages the first gradients while `backward` still
computes the others.
""")


class MakeOptimizer(RankCheck, JudgedRun):
    """Steps of the optimizer, beside those of the replay in one process."""

    todo, points, needs, deadline = "make_optimizer", 3, "horovod", 20.0
    consolidation = (
        "Horovod averages, so a step does not grow by itself when there are more ranks. The linear scaling rule makes "
        "it longer on purpose, in one place and for any number of ranks."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks on nodes of two, and on one."""
        cases = [self.draw(rng, 4, 2), self.draw(rng, 3, 3), self.draw(rng, 1, 1)]
        ### BEGIN HIDDEN CASES
        cases += [self.draw(rng, 2, 1)]
        ### END HIDDEN CASES
        return cases

    def draw(self, rng: random.Random, size: int, local_size: int) -> dict:
        """Batches for three steps."""
        orders = [cut_into_batches(rng.sample(range(2 * size), 2 * size), 2) for _ in range(3)]
        place = {"size": size, "local_size": local_size, "lr": round(rng.uniform(0.01, 0.03), 4)}
        return {**place, "samples": 2 * size, "orders": orders} | seeds(rng, "model", "data")

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """Some steps of the student's optimizer, on samples of this rank's own."""
        model, data = NumberedNet(case["model"]), NumberedSet(case["samples"], case["data"])
        with seeded_apart(rank.rank), simulated_node(rank.rank % case["local_size"], case["local_size"]):
            optimizer = subject.load()(model, case["lr"])
            seen = {**optimizer_facts(optimizer, model), "states": []}
            for order in case["orders"] if seen["options"] else ():
                leave_gradient(model, data, order[rank.rank])
                optimizer.step()
                seen["states"].append(state_of(model))
        return seen

    def shape(self, case: dict) -> dict:
        """Options, names, and the model after each step; nothing of it where there is no optimizer."""
        options, states = record(**dict.fromkeys(OPTIONS, optional(number()))), array(STATE, most=len(case["orders"]))
        return record(kind=string(), options=optional(options), names=optional(array(string())), states=states)

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What a deadlock says."""
        return deadlock(run)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """Rate and options; how gradients are combined in the first step; the later steps; names."""
        for one in results:
            if one["options"] is None or len(one["states"]) != len(case["orders"]):
                return [finding("no-optimizer", kind=one["kind"])]
        options, size = results[0]["options"], case["size"]
        lr = options["lr"] or 0.0
        others = option_mistakes(options, MOMENTUM)
        combined = first_step_mistakes(case, [one["states"][0] for one in results], {**options, "lr": lr or 1.0})
        if options["dampening"] is None:  # of no SGD, which may explain steps that nothing else does
            combined = [each for each in combined if isinstance(each, Finding) or each.explained]
        found = [rate_mistakes(lr, case["lr"], size, case["local_size"]), *others, *combined]
        if any(isinstance(each, Finding) or each.otherwise for each in found):
            return found
        expected = Replicas([NumberedNet(case["model"]) for _ in results], case["lr"] * size, Rules(momentum=MOMENTUM))
        for step, order in enumerate(case["orders"]):
            expected.epoch(NumberedSet(case["samples"], case["data"]), [[ids] for ids in order])
            pairs = zip(results, expected.states(), strict=True)
            if not all(same_state(one["states"][step], state, SIZES) for one, state in pairs):
                return [finding("wrong-later-step", step=step + 1) if step else finding("wrong-first-step")]
        for one in results if size > 1 else ():
            if one["names"] is None:
                return [finding("not-by-horovod")]
            if wrong := [own for own, name in zip(one["names"], TRAINED, strict=False) if own != name]:
                return [finding("no-parameter-names", name=wrong[0])]
        return combined


def optimizer_facts(optimizer: Any, model: NumberedNet) -> dict:
    """On a rank: the type of what was made, its OPTIONS, and what Horovod calls the model's TRAINED parameters.

    Options and names are None where there are none.
    """
    facts: dict[str, Any] = {"kind": type(optimizer).__name__, "options": None, "names": None}
    if not isinstance(optimizer, torch.optim.Optimizer):
        return facts
    options = {name: optimizer.param_groups[0].get(name) for name in OPTIONS}
    facts["options"] = {name: None if value is None else float(value) for name, value in options.items()}
    if (names := getattr(optimizer, "_parameter_names", None)) is not None:
        parameters = dict(model.named_parameters())
        facts["names"] = [str(names.get(parameters[name])) for name in TRAINED]
    return facts


def first_step_mistakes(
    case: dict, states: list[dict], options: Mapping[str, float | None]
) -> list[Finding | Diagnosis]:
    """What is wrong with how much of each rank's gradient is in the ranks' first steps. states: after it, by rank.
    options: of SGD; what they make of the gradient is undone."""
    model, data = NumberedNet(case["model"]), NumberedSet(case["samples"], case["data"])
    before = vector_of(state_of(model))
    batches = [[data.batch(ids)] for ids in case["orders"][0]]
    parts = one_process.parts_of(model.train(), one_process.mean_over_samples(cross_entropy), batches, TRAINED)
    factor = options["lr"] * (1 + (options["momentum"] or 0) * bool(options["nesterov"]))
    decay, sign = (options["weight_decay"] or 0) * before, -1 if options["maximize"] else 1
    used = [sign * ((before - vector_of(state)) / factor - decay) for state in states]
    return one_process.gradient_mistakes(parts, used)


def rate_mistakes(lr: float, alone: float, size: int, local_size: int) -> Diagnosis:
    """What is wrong with a learning rate that should be `size` times that of one rank, `alone`."""
    about = {"lr": lr, "size": size, "times": lr / alone, "local": local_size}
    mistakes = {"lr-not-scaled": 1, "lr-scaled-by-local-size": local_size, "lr-scaled-twice": size * size}
    named = partial(finding, **about)
    return diagnose("learning rate", lr / alone, size, mistakes, named, "wrong-lr", close)


def option_mistakes(options: Mapping[str, float | None], momentum: float) -> list[Finding]:
    """What is wrong with the options of SGD with `momentum`, which are else to be the defaults, that is 0."""
    found = []
    if not close(options["momentum"], momentum):
        found.append(finding("momentum", momentum=options["momentum"] or 0.0, expected=momentum))
    if others := [f"{name} = {options[name]:g}" for name in OPTIONS[2:] if options[name]]:
        found.append(finding("sgd-options", options=", ".join(others)))
    return found


CHECK = MakeOptimizer()
