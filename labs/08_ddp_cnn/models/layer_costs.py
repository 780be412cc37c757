"""What each layer of a CNN costs in a step of training: arithmetic, which the batch multiplies, and weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class LayerCost:
    """A convolution, or a dense layer. kind: "convolution" or "dense". flops: of an image, forward and backward.
    weights: numbers that are trained in it, and in the normalisation that follows it."""

    kind: str
    flops: int
    weights: int


def layer_costs(model: nn.Module, size: int) -> list[LayerCost]:
    """The layers of a CNN on the meta device, in the order in which they compute. size: of its images, in pixels.

    A multiplication and an addition are two operations, as torch's FlopCounterMode counts them; backward, a layer
    computes twice as much: gradients of its weights, and of its inputs, which the first layer does without.
    """
    rows: list[list] = []

    def note(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
        weight, own = module.weight, [each.numel() for each in module.parameters(recurse=False) if each.requires_grad]
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            places = output[0, 0].numel() if output.dim() == 4 else 1
            kind = "convolution" if isinstance(module, nn.Conv2d) else "dense"
            rows.append([kind, 2 * weight.numel() * places * (3 if rows else 2), sum(own)])

    def add(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
        rows[-1][2] += sum(each.numel() for each in module.parameters(recurse=False) if each.requires_grad)

    hooks = []
    for module in model.modules():
        if [*module.parameters(recurse=False)]:
            hook = note if isinstance(module, (nn.Conv2d, nn.Linear)) else add
            hooks.append(module.register_forward_hook(hook))
    with torch.no_grad():
        model(torch.empty(1, 3, size, size, device="meta"))
    for hook in hooks:
        hook.remove()
    return [LayerCost(*row) for row in rows]
