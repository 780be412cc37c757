"""A network that breaks gradients' averaging in all the usual ways, and its backward pass with marks in the record."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course.watch.notes import note

IN, OUT, BATCH = 3, 2, 5
# Of the trained parameters, in the order of `parameters()`; no two have equally many numbers.
SHAPES = {"first": (IN, 6), "tied": (6, 4), "sometimes": (4,), "left": (6, 6), "right": (6,), "last": (6, OUT)}
SHAPES |= {"bias": (OUT,)}
TRAINED = tuple(SHAPES)
BY_COLUMNS = "left"  # is stored by columns, and so is its gradient
FROZEN_BYTES = 6 * 6 * 8  # as many as "left" has
# The layers, in the order of a forward pass; of each, the parameter that has its whole gradient when the layer's
# backward is done. The layer of "tied" that comes second needs it, too.
LAYER = "backward of layer "  # notes in the record, before a layer's number
FIRST, TIED, SOMETIMES, UNTIED, LEFT, RIGHT, FROZEN, LAST = range(8)
COMPLETES = {"first": FIRST, "tied": TIED, "sometimes": SOMETIMES, "left": LEFT, "right": RIGHT, "last": LAST}
COMPLETES |= {"bias": LAST}


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
                self.frozen = nn.Parameter(drawn(6, 6), requires_grad=False)
            values = drawn(*shape)
            setattr(self, name, nn.Parameter(values.T.contiguous().T if name == BY_COLUMNS else values))
        self.crooked = odd and crooked

    def order(self) -> list[int]:
        """The layers in the order of a forward pass."""
        middle = [RIGHT, LEFT] if self.crooked else [LEFT, RIGHT]
        own = [FIRST, TIED, SOMETIMES, UNTIED, *middle, FROZEN, LAST]
        return [layer for layer in own if layer != SOMETIMES or not self.crooked]

    def layer(self, number: int, x: torch.Tensor) -> torch.Tensor:
        """What a layer makes of x."""
        if number in (SOMETIMES, RIGHT):
            return x * (self.sometimes if number == SOMETIMES else self.right)
        if number == LAST:
            return x @ self.last + self.bias
        weights = {FIRST: self.first, TIED: self.tied, UNTIED: self.tied.T, LEFT: self.left, FROZEN: self.frozen}
        return torch.tanh(x @ weights[number])

    def forward(self, x: torch.Tensor, comm: Any = None) -> torch.Tensor:
        """comm: a communicator, in whose record the backward pass notes each layer's number when it comes to it."""
        for number in self.order():
            x = self.layer(number, x)
            if comm is not None:
                x.register_hook(lambda gradient, number=number: note(comm, f"{LAYER}{number}"))
        return x

    def loss(self, seed: int, comm: Any = None) -> torch.Tensor:
        """The mean squared error over a batch that follows from `seed`. comm: see `forward`."""
        generator = torch.Generator().manual_seed(seed)
        x, y = (torch.randn(BATCH, n, generator=generator, dtype=torch.float64) for n in (IN, OUT))
        return ((self(x.to(self.bias.device), comm) - y.to(self.bias.device)) ** 2).mean()

    def trained(self) -> list[nn.Parameter]:
        """The parameters that require a gradient, in order."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]


def some_gradient(seed: int) -> list[torch.Tensor]:
    """Something to lie in `.grad` before a backward pass, by parameter."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in SHAPES.values()]
