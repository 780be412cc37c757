"""Data parallel training, replayed in one process: the weights and losses that ranks come to, right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from autograde.rubric.mistakes import Mistakes, changed
from autograde.rubric.training.one_process import Loss
from autograde.rubric.training.one_process import words as of_gradients
from autograde.rubric.words import Words

Gradients = list[Tensor | None]  # of a replica, by trained parameter; None where a parameter took no part


@dataclass(frozen=True)
class Rules:
    """How replicas train; the defaults are those of ranks that average gradients of the mean loss over a batch.

    mean: what the loss of a micro-batch is divided by: its own number of items ("batch"), that of the rank in this step
    ("rank"), that of a rank on average ("all"), so that the average over the ranks is the mean over all items; or
    nothing ("none"). combine: what the ranks step with: the average of their gradients, the sum, or each its own.
    times: how many times that. zeroed: whether what was in `.grad` before is forgotten. training: whether models are in
    train mode.
    """

    mean: Literal["batch", "rank", "all", "none"] = "batch"
    combine: Literal["mean", "sum", "own"] = "mean"
    times: float = 1.0
    zeroed: bool = True
    training: bool = True


# By key, the rules of known mistakes.
BY_RULES = {
    "no-step": Rules(times=0.0),
    "gradient-carried-over": Rules(zeroed=False),
    "own-gradient-only": Rules(combine="own"),
    "gradients-summed": Rules(combine="sum"),
    "sum-not-mean": Rules(mean="none"),
}
OF_A_BATCH = """
sum-not-mean: The gradient is that of a sum over the samples of a batch, not of their mean: it grows with their number.
What should it be divided by?
"""
MESSAGES = of_gradients.messages | Words(OF_A_BATCH).messages


def words_on_rules(*keys: str) -> str:
    """The words for these of `BY_RULES`, to be added to the text of `Mistakes`."""
    return "".join(f"\n\n{key}: {MESSAGES[key]}" for key in keys)


def trained_wrongly(reference: Callable[..., Any], *keys: str, text: str = "", **changes: Any) -> Mistakes:
    """Mistakes of those whose ranks train by other rules.

    reference: of a call and `rules`, what is shown of the training, see `changed`. keys: of `BY_RULES`, the most likely
    first. text, changes: of mistakes that are likelier still, see `Mistakes` and `changed`.
    """
    by_rules = {key.replace("-", "_"): {"rules": BY_RULES[key]} for key in keys}
    return Mistakes(text + words_on_rules(*keys), changed(reference, **changes, **by_rules))


class Replicas:
    """One model for each rank, which `step` trains as ranks would.

    optimizer: makes the optimizer of a replica, of the parameters that are not frozen. loss: of a model and a
    micro-batch, see `one_process.Loss`.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer],
        loss: Loss,
        rules: Rules | None = None,
    ) -> None:
        self.models, self.loss, self.rules = list(models), loss, rules or Rules()
        self.trained = [[each for each in model.parameters() if each.requires_grad] for model in self.models]
        self.optimizers = [optimizer(own) for own in self.trained]

    def step(self, batches: Sequence[Sequence[Any]]) -> list[list[float]]:
        """One step of all replicas. batches: of each rank, its micro-batches. Returns the mean loss of each of them
        before the step, [rank][micro-batch]; of a batch without items, it is no number, as in torch."""
        found = [
            [self.loss(model.train(self.rules.training), batch)[:2] for batch in own]
            for model, own in zip(self.models, batches, strict=True)
        ]
        every = sum(count for own in found for _, count in own)
        gradients = []
        for trained, own in zip(self.trained, found, strict=True):
            divisors = {"rank": sum(count for _, count in own), "all": every / len(found), "none": 1}
            parts = [total / divisors.get(self.rules.mean, count) for total, count in own]
            gradients.append(
                torch.autograd.grad(sum(parts), trained, allow_unused=True) if parts else [None] * len(trained)
            )
        self.step_with(gradients)
        return [[(total / count).item() for total, count in own] for own in found]

    def pass_through(self, batches: Sequence[Sequence[Any]]) -> list[list[float]]:
        """Steps with one micro-batch of each rank in each. batches: by rank; returns their losses, by rank, too."""
        steps = [self.step([[each] for each in step]) for step in zip(*batches, strict=True)]
        return [[step[rank][0] for step in steps] for rank in range(len(self.models))]

    def step_with(self, gradients: Sequence[Sequence[Tensor | None]]) -> None:
        """One step of all replicas, where these are the gradients of the ranks' own losses, [rank][parameter]."""
        columns = [*zip(*gradients, strict=True)]
        for rank, (trained, optimizer) in enumerate(zip(self.trained, self.optimizers, strict=True)):
            for parameter, column in zip(trained, columns, strict=True):
                gradient = self.combined(column, rank)
                lain = None if self.rules.zeroed else parameter.grad
                parameter.grad = gradient if lain is None else lain if gradient is None else lain + gradient
            optimizer.step()

    def combined(self, column: Sequence[Tensor | None], rank: int) -> Tensor | None:
        """What a rank steps with, of all ranks' gradients of one parameter; who has none counts as zeros."""
        there = [
            each for each in (column[rank : rank + 1] if self.rules.combine == "own" else column) if each is not None
        ]
        share = self.rules.times / (len(column) if self.rules.combine == "mean" else 1)
        return sum(there) * share if there else None
