"""N data-parallel ranks replayed in one process: the parameters and losses that they come to, right or wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of

TOLERANCE = 1e-6  # relative: what the order of sums may change in a few steps; a wrong factor changes more

Batches = Sequence[Sequence[Sequence[int]]]  # of each rank, of each step, the samples' numbers


@dataclass(frozen=True)
class Rules:
    """How the replicas train; the defaults are what is right.

    combine: what becomes of the ranks' gradients: "mean", "sum", or "own", where each rank uses its own. momentum: of
    SGD. nesterov: whether it is Nesterov's. zeroed: whether the gradient of the step before is forgotten. loss: "mean"
    or "sum" over a batch. training: whether the models are in train mode.
    """

    combine: str = "mean"
    momentum: float = 0.9
    nesterov: bool = False
    zeroed: bool = True
    loss: str = "mean"
    training: bool = True


class Replicas:
    """One model for each rank, which `epoch` trains on given batches by SGD.

    lr: scaled as it is to be. SGD is written out here: the first optimizer that torch makes in a process costs a
    second.
    """

    def __init__(self, models: Sequence[NumberedNet], lr: float, rules: Rules | None = None) -> None:
        self.models, self.lr, self.rules = list(models), lr, rules or Rules()
        self.trained = [[each for each in model.parameters() if each.requires_grad] for model in self.models]
        self.moving = [[torch.zeros_like(each) for each in of_rank] for of_rank in self.trained]

    def gradients(self, dataset: NumberedSet, batches: Sequence[Sequence[int]]) -> tuple[list[list], list[float]]:
        """Each rank's gradients, parameter by parameter, and its loss, for one batch each."""
        gradients, losses = [], []
        for model, trained, ids in zip(self.models, self.trained, batches, strict=True):
            inputs, labels = dataset.batch(ids)
            loss = cross_entropy(model.train(self.rules.training)(inputs), labels)
            summed = loss * len(labels) if self.rules.loss == "sum" else loss
            gradients.append(torch.autograd.grad(summed, trained, materialize_grads=True))
            losses.append(loss.item())
        return gradients, losses

    def epoch(self, dataset: NumberedSet, batches: Batches) -> list[list[float]]:
        """One step for each batch of the ranks, which have equally many. Returns the losses before, [rank][step]."""
        losses: list[list[float]] = [[] for _ in self.models]
        for step in zip(*batches, strict=True):
            gradients, own = self.gradients(dataset, step)
            for rank, loss in enumerate(own):
                losses[rank].append(loss)
            self.step(gradients)
        return losses

    def step(self, gradients: Sequence[Sequence[torch.Tensor]]) -> None:
        """One step of all replicas with these gradients, [rank][parameter]."""
        if not self.rules.zeroed:
            left = [[0 if each.grad is None else each.grad for each in of_rank] for of_rank in self.trained]
            gradients = [[g + old for g, old in zip(*pair, strict=True)] for pair in zip(gradients, left, strict=True)]
        for number, column in enumerate(zip(*gradients, strict=True)):
            ranks = torch.stack(column)
            made = {"mean": ranks.mean(0), "sum": ranks.sum(0)}
            for rank, (own, moving) in enumerate(zip(self.trained, self.moving, strict=True)):
                gradient = made.get(self.rules.combine, ranks[rank])
                own[number].grad = gradient.clone()
                moving[number].mul_(self.rules.momentum).add_(gradient)
                ahead = gradient + self.rules.momentum * moving[number] if self.rules.nesterov else moving[number]
                own[number].data.sub_(self.lr * ahead)

    def states(self) -> list[dict[str, list[float]]]:
        """State of each replica, as `state_of` gives it."""
        return [state_of(model) for model in self.models]


def replay(case: dict, rules: Rules | None = None) -> list[tuple[list[dict], list[list[float]]]]:
    """Trains ranks that begin alike. Returns for each epoch the ranks' states after it, and the losses of its batches.

    case: ``size``, ``model`` (seed), ``samples`` and ``data`` (number and seed of the samples), ``batch_size``, ``lr``
    and ``orders``, [epoch][rank][sample].
    """
    replicas = Replicas([NumberedNet(case["model"]) for _ in range(case["size"])], case["lr"], rules)
    data, seen = NumberedSet(case["samples"], case["data"]), []
    for order in case["orders"]:
        losses = replicas.epoch(data, [cut_into_batches(of_rank, case["batch_size"]) for of_rank in order])
        seen.append((replicas.states(), losses))
    return seen


def guesses_of(model: NumberedNet, dataset: NumberedSet) -> list[int]:
    """The class that a model names for each sample, in eval mode."""
    with torch.no_grad():
        return model.eval()(dataset.inputs).argmax(1).tolist()


def hits_of(model: NumberedNet, dataset: NumberedSet) -> list[bool]:
    """Whether it is right, for each sample."""
    return [guess == label for guess, label in zip(guesses_of(model, dataset), dataset.labels, strict=True)]


def close(value: float | None, expected: float, tolerance: float = TOLERANCE) -> bool:
    """Whether a number is there, and right but for rounding."""
    return value is not None and math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)


def same_state(state: Mapping | None, due: Mapping, names: Sequence[str] | None = None) -> bool:
    """Whether a state has the numbers that are due: all of them, or those of some entries."""
    if state is None:
        return False
    for name in due if names is None else names:
        values = state.get(name)
        if values is None or len(values) != len(due[name]) or not all(map(close, values, due[name])):
            return False
    return True


def cut_into_batches(ids: Sequence[int], batch_size: int) -> list[list[int]]:
    """Samples in their order, as a loader without `drop_last` makes batches of them."""
    return [list(ids[start : start + batch_size]) for start in range(0, len(ids), batch_size)]
