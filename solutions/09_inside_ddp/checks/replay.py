"""What the ranks' steps give in one process that makes all their backward passes, and what mistakes give instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from .crooked_net import TRAINED, some_gradient
from .training_steps import batch_seed, left_seed, net_of, optimizer_of

Gradients = list[torch.Tensor | None]  # by trained parameter


@dataclass(frozen=True)
class Expected:
    """One step. own: by rank, what its backward passes leave in `.grad`. last: by rank, the gradients of its last pass
    alone. before: by rank, what was in `.grad` before that pass. weights: by trained parameter, before the step."""

    own: list[Gradients]
    last: list[Gradients]
    before: list[Gradients]
    weights: list[torch.Tensor]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.own)

    def mean(self, gradients: list[Gradients] | None = None, divisor: float = 0) -> list[torch.Tensor]:
        """The average over all ranks, by parameter; who has none counts as zeros."""
        rows = self.own if gradients is None else gradients
        return [total / (divisor or self.size) for total in map(self.total, zip(*rows, strict=True), self.weights)]

    @staticmethod
    def total(of_ranks: tuple[torch.Tensor | None, ...], weight: torch.Tensor) -> torch.Tensor:
        """The sum of the ranks' gradients of one parameter."""
        return sum((each for each in of_ranks if each is not None), torch.zeros_like(weight))

    def users(self, place: int) -> int:
        """How many ranks have a gradient of the parameter."""
        return sum(gradients[place] is not None for gradients in self.own)


def copies(gradients: list[torch.nn.Parameter]) -> Gradients:
    """What is in `.grad` now."""
    return [None if each.grad is None else each.grad.clone() for each in gradients]


def replay(plan: dict, size: int, times: Mapping[int, float]) -> Iterator[Expected]:
    """The steps of `size` ranks, where each is right. times: by step, how many times the average the ranks take in its
    place; read when the next step is asked for."""
    nets = [net_of(plan, rank) for rank in range(size)]
    optimizers = [optimizer_of(net) for net in nets]
    for step, before in enumerate(plan["steps"]):
        own, last, lain = [], [], []
        weights = [parameter.detach().clone() for parameter in nets[0].trained()]
        for rank, net in enumerate(nets):
            optimizers[rank].zero_grad()
            left = some_gradient(left_seed(plan, rank)) if step == 0 and plan["left"] else [None] * len(TRAINED)
            for parameter, values in zip(net.trained(), left, strict=True):
                parameter.grad = None if values is None else values.clone()
            for passed in range(before):
                net.loss(batch_seed(plan, step, passed, rank)).backward()
            lain.append(copies(net.trained()))
            for parameter in net.trained():
                parameter.grad = None
            if rank != plan["idle"]:
                net.loss(batch_seed(plan, step, before, rank)).backward()
            last.append(copies(net.trained()))
            own.append([together(one, other) for one, other in zip(lain[-1], last[-1], strict=True)])
        expected = Expected(own, last, lain, weights)
        yield expected
        for net, optimizer in zip(nets, optimizers, strict=True):
            for parameter, values in zip(net.trained(), expected.mean(), strict=True):
                parameter.grad = values * times.get(step, 1.0)
            optimizer.step()


def together(one: torch.Tensor | None, other: torch.Tensor | None) -> torch.Tensor | None:
    """The sum of two gradients, of which each may be missing."""
    return other if one is None else one if other is None else one + other
