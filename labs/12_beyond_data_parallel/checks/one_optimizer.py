"""One process' steps with the mean gradient, and those of known mistakes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .judged_tensors import flat
from .sharded import OPTIMIZERS, gradients_of, parameters_of


class OneOptimizer:
    """The parameters of a plan on `size` ranks, after each number of steps."""

    def __init__(self, plan: dict, size: int) -> None:
        self.plan, self.size = plan, size
        self.row = torch.cat([each.detach().reshape(-1) for each in parameters_of(plan)])
        self.count = len(self.row)
        self.length = -(-self.count // size)

    def share(self, rank: int) -> torch.Tensor:
        """What `make` is due on a rank."""
        padded = torch.cat([self.row, self.row.new_zeros(self.size * self.length - self.count)])
        return padded[rank * self.length : (rank + 1) * self.length]

    def gradient(self, step: int, rank: int, moved_up: bool = False) -> torch.Tensor:
        """The gradients of a rank in one row, with zeros where there is none; moved_up: with these at the end."""
        row, zeros = [], []
        for each, shape in zip(gradients_of(self.plan, step, rank), self.plan["shapes"], strict=True):
            if each is None:
                (zeros if moved_up else row).append(torch.zeros(shape, dtype=torch.float64))
            else:
                row.append(each)
        return torch.cat([each.reshape(-1) for each in row + zeros])

    def mean(self, step: int, moved_up: bool = False) -> torch.Tensor:
        """The mean of the ranks' gradients."""
        return sum(self.gradient(step, rank, moved_up) for rank in range(self.size)) / self.size

    def after(self, steps: int, gradient: Callable[[int], torch.Tensor], anew: bool = False) -> torch.Tensor:
        """All parameters after some steps. anew: whether each step has an optimizer of its own."""
        row = self.row.clone()
        optimizer = OPTIMIZERS[self.plan["optimizer"]]([row])
        for step in range(steps):
            optimizer = OPTIMIZERS[self.plan["optimizer"]]([row]) if anew else optimizer
            row.grad = gradient(step)
            optimizer.step()
        return row

    def expected(self, steps: int) -> list[list[float]]:
        """By rank."""
        return [flat(self.after(steps, self.mean))] * self.size

    def mistakes(self, steps: int) -> dict[str, list[list[float]]]:
        """What known mistakes give after some steps, by rank."""
        right, size, rows = self.after(steps, self.mean), self.size, range(self.size)
        total = flat(self.after(steps, lambda step: size * self.mean(step)))
        smaller = flat(self.after(steps, lambda step: self.mean(step) / size))
        anew = flat(self.after(steps, self.mean, anew=True))
        moved_up = flat(self.after(steps, lambda step: self.mean(step, moved_up=True)))
        kept = flat(self.after(steps, lambda step: sum(self.mean(each) for each in range(step + 1))))
        own = [self.after(steps, lambda step, rank=rank: self.gradient(step, rank)) for rank in rows]
        places = torch.arange(self.count) // self.length
        joined = sum(torch.where(places == rank, own[rank], 0.0) for rank in rows)
        return {
            "sum-for-the-mean": [total] * size,
            "averaged-over-ranks-twice": [smaller] * size,
            "momentum-starts-anew": [anew] * size,
            "gradients-moved-up": [moved_up] * size,
            "gradients-kept": [kept] * size,
            "own-gradients": [flat(joined)] * size,
            "own-gradients/of all": [flat(each) for each in own],
            "shares-not-gathered": [flat(torch.where(places == rank, right, self.row)) for rank in rows],
            "no-step-made": [flat(self.row)] * size,
        }
