"""A chain of layers, of which a subclass says what happens around the passes of each: for sharded weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn


class LayerByLayer(nn.Module):
    """Layers one after the other. In both directions, each layer's pass is made by a method that a subclass replaces.

    layers: each takes one tensor of floats, and gives one. They are in `layers`, a list, and are no submodules:
    `parameters()` has what the subclass registers, and nothing else. Of that something has to require a gradient.
    """

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = [*layers]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """All layers, one after the other."""
        for number in range(len(self.layers)):
            x = Pass.apply(x, self, number, torch.is_grad_enabled(), *self.parameters())
        return x

    def forward_pass(self, number: int, compute: Callable[[], None]) -> None:
        """The forward pass of the layer of this number, which `compute()` makes."""
        compute()

    def backward_pass(self, number: int, compute: Callable[[], None]) -> None:
        """The backward pass of the layer of this number, which `compute()` makes: then its parameters have their
        gradients."""
        compute()


class Pass(torch.autograd.Function):
    """One layer, with a graph of its own."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, model: LayerByLayer, number: int, graph: bool, *parameters: torch.Tensor
    ) -> torch.Tensor:
        """The layer's output. parameters: so that there is a backward pass where x needs no gradient."""
        ctx.model, ctx.number, ctx.parameters = model, number, len(parameters)
        ctx.x = x.detach().requires_grad_(graph)

        def compute() -> None:
            with torch.set_grad_enabled(graph):
                ctx.y = model.layers[number](ctx.x)

        model.forward_pass(number, compute)
        return ctx.y.detach()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:
        """The gradient of the layer's input; its parameters' are in their `.grad`."""
        ctx.model.backward_pass(ctx.number, lambda: ctx.y.backward(gradient))
        return ctx.x.grad, None, None, None, *[None] * ctx.parameters
