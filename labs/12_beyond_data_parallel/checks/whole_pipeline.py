"""The gradients of all stages of a pipeline, and those that known mistakes leave: worked out in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .judged_tensors import flat
from .stages import Stage, batch_of, losses_of
from .tensors import drawn


def left_before(plan: dict, number: int) -> list[torch.Tensor]:
    """What is in `.grad` of a stage's parameters before the call: zeros where the plan says so."""
    width, seed = plan["width"], plan["seed"] + 900 + 10 * number
    values = drawn(seed, [width, width]), drawn(seed + 1, [width])
    return [each * plan["before"] for each in values]


class WholePipeline:
    """All stages of a plan. passes: by stage and micro-batch (input, output), each with a graph of its own."""

    def __init__(self, plan: dict, size: int) -> None:
        self.plan, self.size, self.count = plan, size, len(plan["rows"])
        self.stages = [Stage(plan, number) for number in range(size)]
        self.passes: list[list[tuple]] = []
        inputs = batch_of(plan)
        for stage in self.stages:
            inputs = [each.detach().requires_grad_() for each in inputs]
            outputs = [stage(each) for each in inputs]
            self.passes.append([*zip(inputs, outputs, strict=True)])
            inputs = outputs
        self.losses = losses_of(plan, inputs)
        self.first: dict[int, torch.Tensor] = {}  # by rank, the gradient of the first micro-batch's input

    def gradients(
        self, upstream: Callable[[int, int, torch.Tensor, torch.Tensor], torch.Tensor], own_on: bool = True
    ) -> list[list]:
        """By rank, the gradients of all parameters together with what was there before.

        upstream: what rank and micro-batch take for the gradient of the output, given the right one and the one that
        the rank behind got. own_on: whether the last rank, which gets none, hands its input's gradient on.
        """
        self.first = {}
        sums = [[torch.zeros_like(each) for each in stage.parameters()] for stage in self.stages]
        for number in range(self.count):
            right = torch.autograd.grad(self.losses[number], self.passes[-1][number][1], retain_graph=True)[0]
            handed = right
            for rank in reversed(range(self.size)):
                x, y = self.passes[rank][number]
                taken = upstream(rank, number, right, handed)
                parameters = [*self.stages[rank].parameters()]
                *own, of_x = torch.autograd.grad(y, [*parameters, x], taken, retain_graph=True)
                sums[rank] = [total + each for total, each in zip(sums[rank], own, strict=True)]
                self.first.setdefault(rank, of_x)
                if rank == self.size - 1 and own_on:
                    handed = of_x  # the last rank gets none, so it hands on its own
                right = of_x
        return sums

    def with_before(self, sums: Sequence[Sequence[torch.Tensor]], factor: float = 1.0, kept: bool = True) -> list[list]:
        """As lists of numbers: what was there before, and `factor` times these."""
        return [
            [
                flat(factor * each + (before if kept else 0.0))
                for each, before in zip(own, left_before(self.plan, rank), strict=True)
            ]
            for rank, own in enumerate(sums)
        ]

    def expected(self) -> list[list]:
        """What is due on all ranks."""
        return self.with_before(self.right())

    def right(self) -> list[list]:
        """The gradients of the mean loss."""
        return self.gradients(lambda rank, number, right, handed: right)

    def mistakes(self) -> dict[str, list[list]]:
        """What known mistakes leave, by their keys."""
        right, last = self.right(), self.size - 1

        def ones(rank: int, number: int, taken: torch.Tensor, handed: torch.Tensor) -> torch.Tensor:
            return taken if rank == last else torch.ones_like(taken)

        def all_ones(rank: int, number: int, taken: torch.Tensor, handed: torch.Tensor) -> torch.Tensor:
            return torch.ones_like(taken)

        def as_it_came(rank: int, number: int, taken: torch.Tensor, handed: torch.Tensor) -> torch.Tensor:
            return handed if rank < last else taken

        def first_one(rank: int, number: int, taken: torch.Tensor, handed: torch.Tensor) -> torch.Tensor:
            return taken if rank == last or not number else self.first[rank + 1]

        given = {
            "gradients-zeroed": self.with_before(right, kept=False),
            "averaged-once-more": self.with_before(right, 1 / self.count),
            "averaged-once-more/over the ranks": self.with_before(right, 1 / self.size),
            "gradients-added-twice": self.with_before(right, 2.0),
            "nothing-left": self.with_before(right, 0.0),
            "ones-for-the-gradient": self.with_before(self.gradients(ones)),
            "ones-for-the-gradient/on all": self.with_before(self.gradients(all_ones)),
            "gradients-as-they-came": self.with_before(self.gradients(as_it_came)),
            "gradients-as-they-came/of the output": self.with_before(self.gradients(as_it_came, own_on=False)),
        }
        if len({*self.plan["rows"]}) == 1:
            given["first-gradient-each-time"] = self.with_before(self.gradients(first_one))
        return given
