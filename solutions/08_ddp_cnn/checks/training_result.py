"""What became of a training: the model that the ranks hold, and the losses that they return."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.rubric.training.replay import Replicas, Rules
from autograde.rubric.values.rounding import KNOWN
from autograde.verdicts import one_process
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.means import apart, loss_parts, mean_of, mean_on_all
from autograde.verdicts.one_process import Loss

from .drawn_batches import Drawn, expected_batches

TOLERANCE = 2e-6  # of a loss: what float32 leaves
NAMES = ("weight", "bias")

finding = Findings("""
wrapper-not-called 3
On {size} ranks, each steps with its own gradient: {how} After two epochs the models differ.

lr-scaled 2
The steps are {size} times too long: the learning rate is multiplied by the number of ranks. That rule is for batches
which grow with the ranks; here the batch of a step is as large as before.

lr-divided 2
The steps are {size} times too short. `lr` is taken as it is: the gradient is averaged already.

no-momentum 2
The steps are those of SGD without momentum. It is to be 0.9.

nesterov-momentum 2
The steps are those of SGD with Nesterov's momentum, which looks one step ahead. Plain momentum is asked for.

momentum-lost 1.5
The momentum is forgotten after each epoch. Where does your code make the optimizer?

sum-over-batch 2
The gradient is that of a sum over the batch, not of its mean.

losses-after-steps 2
In epoch {epoch} your function returns {actual}, the mean of losses that were computed after the steps. Expected is the
mean of those of which the gradients were taken, {expected:.6g}.

short-batch-as-full 2
In epoch {epoch} your function returns {actual}: each batch counts as a full one, also the last, which is smaller.
Expected is {expected:.6g}. How many samples does the mean of this batch stand for?

last-batch-loss 2
In epoch {epoch} your function returns {actual}, which is the loss of the last batch. The mean over all samples of the
epoch is {expected:.6g}.

another-object-trained 2
The losses are those of the right training, and `model` itself has the weights that it had before: something else was
trained in its place. Where does your code make a second model?

other-training 3
After the training, {name} on rank {rank} has the entry {actual}; one process that makes the same steps has {expected}.
Is there another number of steps, or does something else change loss, gradient or learning rate?
""")

CALLED = "the forward pass goes past the wrapper. Its backward pass averages what it has seen in a forward pass."
OTHER = "DistributedDataParallel does not average them."


class Trained:
    """The ranks' models and losses by one way of training. begin: seeds of the models, by rank. anew: whether each
    epoch has an optimizer of its own. sgd: other options of it."""

    def __init__(
        self,
        case: dict,
        batches: Sequence[Sequence[Sequence[int]]],
        factor: float = 1.0,
        rules: Rules | None = None,
        anew: bool = False,
        begin: Sequence[int] | None = None,
        **sgd: Any,
    ) -> None:
        models = [NumberedNet(seed, plain=True, norm=False) for seed in begin or [case["models"][0]] * case["size"]]
        for model in models:
            model.bias.requires_grad_(False)
        loss, options = NumberedSet(case["samples"], case["data"]).loss, {"lr": case["lr"] * factor, "momentum": 0.9}
        replicas = Replicas(models, partial(torch.optim.SGD, **{**options, **sgd}), loss, rules)
        steps = len(batches[0]) // case["epochs"]
        self.losses, self.later = [], []  # [epoch][rank][step]; the same batches' after the step
        for epoch in range(case["epochs"]):
            cut = [own[steps * epoch : steps * (epoch + 1)] for own in batches]
            before, after = [], []
            for step in zip(*cut, strict=True):
                before.append([own for [own] in replicas.step([[ids] for ids in step])])
                after.append([mean_loss(loss, *pair) for pair in zip(models, step, strict=True)])
            self.losses.append([[*own] for own in zip(*before, strict=True)])
            self.later.append([[*own] for own in zip(*after, strict=True)])
            for optimizer in replicas.optimizers if anew else ():
                optimizer.state.clear()
        self.states = [{name: state_of(model)[name] for name in NAMES} for model in models]


def mean_loss(loss: Loss, model: NumberedNet, ids: Sequence[int]) -> float:
    """The loss of a batch as it is now."""
    with torch.no_grad():
        total, count, _ = loss(model, ids)
    return (total / count).item()


def training_mistakes(
    case: dict, batches: Drawn, states: Sequence[dict], through: bool
) -> tuple[Diagnosis, Trained | None]:
    """What is wrong with the models in the end; and the training that they come from, if it is known.

    batches: that they were trained on. through: whether all forward passes came through the wrapper.
    """
    size, right = case["size"], Trained(case, batches)
    expected = right.states
    ways: dict[str, dict] = {
        "gradient-carried-over": {"rules": Rules(zeroed=False)},
        "no-momentum": {"momentum": 0.0},
        "nesterov-momentum": {"nesterov": True},
        "momentum-lost": {"anew": True},
        "sum-over-batch": {"rules": Rules(mean="none")},
    }
    if size > 1:
        ways |= {
            "wrapper-not-called": {"rules": Rules(combine="own")},
            "wrapper-not-called/own weights": {"rules": Rules(combine="own"), "begin": case["models"]},
            "lr-scaled": {"factor": size},
            "lr-divided": {"factor": 1 / size},
        }
    ways |= {"no-step/own": {"factor": 0.0, "begin": case["models"]}, "no-step": {"factor": 0.0}}
    trained = {key: Trained(case, batches, **how) for key, how in ways.items()}
    candidates = {key: each.states for key, each in trained.items()}
    about = {"size": size, "items": "samples", "how": OTHER if through else CALLED, **difference(states, expected)}

    def made(key: str) -> Finding:
        return (finding if key in finding.known else one_process.finding)(key, **about)

    told = diagnose("training", states, expected, candidates, made, "other-training", same_states)
    known = [each for each in (right, *trained.values()) if same_states(states, each.states)]
    return told, next(iter(known), None)


def same_states(states: Sequence[dict], expected: Sequence[dict]) -> bool:
    """Whether all ranks' models have the numbers that are expected."""
    return all(
        all(map(KNOWN, state[name], right[name]))
        for state, right in zip(states, expected, strict=True)
        for name in NAMES
    )


def difference(states: Sequence[dict], expected: Sequence[dict]) -> dict:
    """The first number of the ranks' models that is not as expected, as findings name it."""
    for rank, (state, right) in enumerate(zip(states, expected, strict=True)):
        for name in NAMES:
            for actual, value in zip(state[name], right[name], strict=True):
                if not KNOWN(actual, value):
                    shown = "no finite number" if actual is None else f"{actual:.6g}"
                    return {"rank": rank, "name": f"`{name}`", "actual": shown, "expected": f"{value:.6g}"}
    return {"rank": 0, "name": "the model", "actual": "none", "expected": "none"}


def loss_mistakes(
    case: dict, batches: Drawn, trained: Trained, losses: Sequence[Sequence[dict]]
) -> list[Finding | Diagnosis]:
    """What is wrong with the losses that the ranks returned, as `described` gives them, [rank][epoch].

    batches, trained: what the ranks trained on, and how.
    """
    found: list[Finding | Diagnosis] = []
    sizes = sizes_of(case, batches)
    for epoch, of_epoch in enumerate(trained.losses):
        parts = loss_parts(of_epoch, sizes)
        reported = [own[epoch] for own in losses]
        last = {"last-batch-loss": [own[-1] for own in of_epoch]}
        last["losses-after-steps"] = mean_of(loss_parts(trained.later[epoch], sizes))
        full, count = case["batch_size"] // case["size"] * sum(map(sum, of_epoch)), sum(map(sum, sizes))
        last["short-batch-as-full"] = full / count
        last["short-batch-as-full/of the set"] = full / case["samples"]
        last["last-batch-loss/averaged"] = sum(last["last-batch-loss"]) / case["size"]

        def made(key: str, epoch: int = epoch, **seen: object) -> Finding:
            return finding(key, **{**seen, "epoch": epoch})

        given = {"candidates": last, "make": made, "tolerance": TOLERANCE, "subject": "loss"}
        found += mean_on_all(reported, parts, "samples", **given)
    return found


def only_a_copy(
    case: dict, batches: Drawn, judged: Diagnosis, losses: Sequence[Sequence[dict]]
) -> list[Finding | Diagnosis]:
    """A finding where the losses are right, and the models are those of the beginning. judged: the models."""
    if not any(each.key == "no-step" for each in judged.explained):
        return []
    wrong = settle([loss_mistakes(case, batches, Trained(case, batches), losses)])
    return [] if wrong else [finding("another-object-trained")]


def sizes_of(case: dict, batches: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """Samples in each batch of an epoch, by rank."""
    steps = len(batches[0]) // case["epochs"]
    return [[len(ids) for ids in own[:steps]] for own in batches]


def told_apart(case: dict, batches: Sequence[Sequence[Sequence[int]]]) -> bool:
    """Whether known mistakes about the losses can be told from the truth in this case."""
    keys = ["mean-of-means/batches", *(["own-part-only"] if case["size"] > 1 else [])]
    trained = Trained(case, batches)
    return all(apart(loss_parts(each, sizes_of(case, batches)), case["size"], keys, 1e-4) for each in trained.losses)


def draw_training(rng: random.Random, size: int, alone: bool = False) -> dict:
    """A case: two epochs of two batches, of which the second is smaller, with padding where there are several ranks."""
    own_batch = rng.randrange(4, 6)
    own = own_batch + rng.randrange(1, own_batch - 1)
    samples = size * own - (rng.randrange(1, size) if size > 1 else 0)
    case = {"size": size, "alone": alone, "local_size": 2 if size > 2 else 1, "epochs": 2, "samples": samples}
    case |= {"batch_size": size * own_batch, "lr": round(rng.uniform(0.03, 0.06), 4), "seed": rng.randrange(1, 2**31)}
    case |= {"models": [rng.randrange(2**31) for _ in range(size)], "data": rng.randrange(2**31)}
    return case if told_apart(case, expected_batches(case)) else draw_training(rng, size, alone)
