"""A network that breaks gradients' averaging in all the usual ways."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

IN, WIDTH, OUT, BATCH = 3, 4, 2, 5
# Of the trained parameters, in the order of `parameters()`; no two have equally many numbers.
SHAPES = {"first": (IN, WIDTH), "tied": (WIDTH, 5), "sometimes": (5,), "left": (WIDTH, WIDTH), "right": (WIDTH,)}
SHAPES |= {"last": (WIDTH, OUT), "bias": (OUT,)}
TRAINED = tuple(SHAPES)
BY_COLUMNS = "left"  # is stored by columns, and so is its gradient
FIRST, TIED, SOMETIMES, UNTIED, LEFT, RIGHT, FROZEN, LAST = range(8)  # layers, in the order of a forward pass


class CrookedNet(nn.Module):
    """x [b, IN] -> [b, OUT], float64. Two layers share a weight, and one is frozen.

    seed: of all parameters. odd: whether this is an odd rank, and `crooked`: then it does not use `sometimes`, and the
    layers `left` and `right` come in the other order.
    """

    def __init__(self, seed: int, odd: bool, crooked: bool, device: Any = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(device)

        for name, shape in SHAPES.items():
            if name == "last":
                self.frozen = nn.Parameter(drawn(*SHAPES[BY_COLUMNS]), requires_grad=False)
            values = drawn(*shape)
            setattr(self, name, nn.Parameter(values.T.contiguous().T if name == BY_COLUMNS else values))
        self.crooked = odd and crooked

    def layer(self, number: int, x: torch.Tensor) -> torch.Tensor:
        """What a layer makes of x."""
        if number in (SOMETIMES, RIGHT):
            return x * (self.sometimes if number == SOMETIMES else self.right)
        if number == LAST:
            return x @ self.last + self.bias
        weights = {FIRST: self.first, TIED: self.tied, UNTIED: self.tied.T, LEFT: self.left, FROZEN: self.frozen}
        return torch.tanh(x @ weights[number])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer after the other."""
        used = [FIRST, TIED, UNTIED, RIGHT, LEFT, FROZEN, LAST] if self.crooked else range(8)
        for number in used:
            x = self.layer(number, x)
        return x

    def loss(self, seed: int) -> torch.Tensor:
        """The mean squared error over a batch that follows from `seed`."""
        generator = torch.Generator().manual_seed(seed)
        x, y = (torch.randn(BATCH, n, generator=generator, dtype=torch.float64) for n in (IN, OUT))
        return ((self(x.to(self.bias.device)) - y.to(self.bias.device)) ** 2).mean()


def some_gradient(seed: int) -> list[torch.Tensor]:
    """Something to lie in `.grad` before a backward pass, by trained parameter."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in SHAPES.values()]
