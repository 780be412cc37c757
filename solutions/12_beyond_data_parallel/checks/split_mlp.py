"""What a split MLP has and gives, and what known mistakes give: worked out in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import linear

from .judged_tensors import flat
from .mlps import mlp_of
from .tensors import drawn

NAMES = ("w1", "b1", "w2", "b2")


class SplitMLP:
    """An MLP of a plan, split over `size` ranks. mlp: the whole one, after a pass in each direction."""

    def __init__(self, plan: dict, size: int) -> None:
        self.plan, self.size, self.mlp = plan, size, mlp_of(plan)
        self.x = drawn(plan["seed"] + 50, plan["x"], plan["layout"]).requires_grad_()
        self.y = self.mlp(self.x)
        self.upstream = drawn(plan["seed"] + 60, [*self.y.shape])
        self.units = torch.arange(plan["sizes"][1]).tensor_split(size)
        self.y.backward(self.upstream)

    def parts(self, tensors: Sequence[torch.Tensor], rank: int) -> dict[str, torch.Tensor]:
        """A rank's part of (w1, b1, w2, b2)."""
        w1, b1, w2, b2 = tensors
        own = self.units[rank]
        return {"w1": w1[own], "b1": b1[own], "w2": w2[:, own], "b2": b2}

    def parameters(self, rank: int) -> dict[str, torch.Tensor]:
        """The parameters of a rank."""
        return self.parts([each.detach() for each in self.mlp.parameters()], rank)

    def gradients(self, rank: int) -> dict[str, torch.Tensor]:
        """The gradients of a rank's parameters, and of x."""
        return {**self.parts([each.grad for each in self.mlp.parameters()], rank), "x": self.x.grad}

    def own_part(self, rank: int) -> torch.Tensor:
        """What a rank's hidden units add to the output, without the bias."""
        own = self.parameters(rank)
        return linear(self.mlp[1](linear(self.x.detach(), own["w1"], own["b1"])), own["w2"])

    def own_gradient(self, rank: int) -> torch.Tensor:
        """What comes back to x through a rank's hidden units."""
        own, x = self.parameters(rank), self.x.detach().requires_grad_()
        linear(self.mlp[1](linear(x, own["w1"], own["b1"])), own["w2"]).backward(self.upstream)
        return x.grad

    def outputs(self) -> dict[str, list]:
        """What known mistakes give on all ranks, by their keys."""
        first, activation, second = self.mlp
        x, size, y = self.x.detach(), self.size, self.y.detach()
        summed = second.weight @ first(x).unsqueeze(-1)
        late = activation(summed.squeeze(-1))
        alike = {
            "bias-on-every-rank": y + (size - 1) * second.bias,
            "bias-left-out": y - second.bias,
            "activation-at-the-end": late + second.bias,
            "activation-at-the-end/on all": activation(summed.squeeze(-1) + second.bias),
            "activation-left-out": summed.squeeze(-1) + second.bias,
            "average-of-parts": (y - second.bias) / size + second.bias,
        }
        own = [flat(self.own_part(rank) + second.bias) for rank in range(size)]
        return {"part-not-summed": own, **{key: [flat(each)] * size for key, each in alike.items()}}

    def all_gradients(self) -> list[dict[str, Any]]:
        """The gradients of each rank, as lists of numbers."""
        return [{name: flat(each) for name, each in self.gradients(rank).items()} for rank in range(self.size)]

    def gradient_mistakes(self) -> dict[str, list[dict]]:
        """The gradients of each rank, by the keys of known mistakes; None is for a gradient that is not there."""
        right, size = self.all_gradients(), self.size

        def times(factor: float, names: Sequence[str]) -> list[dict]:
            return [own | {name: [factor * each for each in own[name]] for name in names} for own in right]

        own_x = [{**own, "x": flat(self.own_gradient(rank))} for rank, own in enumerate(right)]
        zeros = [0.0] * len(right[0]["b2"])
        given = {
            "gradient-of-x-own-part": own_x,
            "gradient-of-x-average": times(1 / size, ["x"]),
            "gradients-times-ranks": times(size, ["x", "w1", "b1", "w2"]),
            "gradients-times-ranks/and the bias": times(size, ["x", *NAMES]),
            "gradients-times-ranks/not of x": times(size, ["w1", "b1", "w2"]),
            "gradients-times-ranks/squared": [
                {**own, "x": [size * size * each for each in own["x"]]} for own in times(size, NAMES)
            ],
            "bias-gradient-divided": times(1 / size, ["b2"]),
        }
        for form, other in ("zeros", zeros), ("none", []):
            lone = [{**own, "b2": own["b2"] if rank == 0 else other} for rank, own in enumerate(right)]
            given[f"bias-on-one-rank/{form}"] = lone
        return given
