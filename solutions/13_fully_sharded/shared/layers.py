"""A layer, and what the ranks have of it, as both sides draw it from a seed.

Shards come first, and the parameters are made of them: each rank's shard is drawn by itself, with whatever is behind
the last row. A call's `sizes` are the units outside and inside; where it is `tied`, both are the same, and both
matrices are one parameter. `dtype` is float64 unless it says another.
"""

from __future__ import annotations

import torch
from torch import nn

from .values import drawn, rows_of, zeros_behind


def shapes_of(call: dict) -> list[list[int]]:
    """The shapes of the layer's parameters."""
    d, h = call["sizes"]
    return [[d, d], [d], [d]] if call.get("tied") else [[h, d], [h], [d, h], [d]]


def numbers(call: dict, shift: int, shape: list[int]) -> torch.Tensor:
    """Numbers in the call's dtype. shift: of the seed."""
    return drawn(call["seed"] + shift, shape, call.get("dtype", "float64"))


def layer_of(call: dict, size: int) -> nn.Module:
    """A layer of two matrices, with the weights that all ranks' shards make."""
    d, h = call["sizes"]
    layer = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, d)).to(getattr(torch, call.get("dtype", "float64")))
    if call.get("tied"):
        layer[2].weight = layer[0].weight
    for parameter, weights in zip(layer.parameters(), weights_of(call, size), strict=True):
        parameter.data.copy_(weights)
    return layer


def shards_of(call: dict, rank: int, size: int) -> list[torch.Tensor]:
    """What a rank has of each parameter; behind the last row are other numbers, unless `zeros` are called for."""
    shapes = [[rows_of(shape[0], size), *shape[1:]] for shape in shapes_of(call)]
    own = [numbers(call, 100 * rank + number, shape) - 1 for number, shape in enumerate(shapes)]
    if call.get("zeros"):
        return [zeros_behind(each, shape[0], rank) for each, shape in zip(own, shapes_of(call), strict=True)]
    return own


def weights_of(call: dict, size: int) -> list[torch.Tensor]:
    """The parameters that all ranks' shards make."""
    by_rank = [shards_of(call, rank, size) for rank in range(size)]
    return [
        torch.cat([shards[number] for shards in by_rank])[: shape[0]] for number, shape in enumerate(shapes_of(call))
    ]


def batch_of(call: dict, rank: int) -> torch.Tensor:
    """A rank's samples."""
    return numbers(call, 17 * rank + 5, [2, call["sizes"][0]])


def gradients_of(call: dict, rank: int) -> list[torch.Tensor | None]:
    """A rank's gradients. A call's `missing` are pairs of a rank and a parameter's number."""
    return [
        None if [rank, number] in call["missing"] else numbers(call, 100 * rank + number + 50, shape)
        for number, shape in enumerate(shapes_of(call))
    ]


def before_of(call: dict, rank: int, size: int) -> list[torch.Tensor | None]:
    """What is in `.grad` of a rank's shards already: zeros behind the last row, and nothing where the call says so."""
    drawn_ones = [
        numbers(call, 100 * rank + number + 70, [rows_of(shape[0], size), *shape[1:]])
        for number, shape in enumerate(shapes_of(call))
    ]
    filled = [zeros_behind(each, shape[0], rank) for each, shape in zip(drawn_ones, shapes_of(call), strict=True)]
    return [each if call["before"] else None for each in filled]
