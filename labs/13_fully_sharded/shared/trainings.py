"""Models of layers, and what the ranks have of them, as both sides draw them from a seed."""

from __future__ import annotations

import torch
from torch import nn

from . import layers
from .values import drawn, rows_of


def of_layer(call: dict, number: int) -> dict:
    """What `layers` draws a layer from."""
    sizes = [call["width"], call["hidden"][number]]
    return {"sizes": sizes, "tied": number in call["tied"], "seed": call["seed"] + 1000 * number}


def shards_of(call: dict, rank: int, size: int) -> list[list[torch.Tensor]]:
    """By layer, what a rank has of each parameter; zeros behind the last row."""
    found = []
    for number in range(len(call["hidden"])):
        one = of_layer(call, number)
        shards = layers.shards_of(one, rank, size)
        for own, shape in zip(shards, layers.shapes_of(one), strict=True):
            own[max(0, shape[0] - rank * rows_of(shape[0], size)) :] = 0
        found.append(shards)
    return found


def layers_of(call: dict, size: int) -> list[nn.Module]:
    """The layers with their weights, the same on all ranks."""
    found = []
    for number in range(len(call["hidden"])):
        one = of_layer(call, number)
        layer = layers.layer_of(one)
        with torch.no_grad():
            for parameter, weights in zip(layer.parameters(), layers.weights_of(one, size), strict=True):
                parameter.copy_(weights)
        found.append(layer)
    return found


def batch_of(call: dict, rank: int, step: int, part: int) -> torch.Tensor:
    """A rank's samples in one micro-batch of a step."""
    return drawn(call["seed"] + 17 * rank + 1000 * step + 100 * part + 5, [2, call["width"]])
