"""A layer, and what the ranks have of it, as both sides draw it from a seed.

Shards come first, and the parameters are made of them: each rank's shard is drawn by itself, with whatever is behind
the last row.
"""

from __future__ import annotations

import torch
from torch import nn

from .values import drawn, rows_of


def shapes_of(call: dict) -> list[list[int]]:
    """The shapes of the parameters of `layer_of`."""
    d, h = call["sizes"]
    return [[d, d], [d], [d]] if call.get("tied") else [[h, d], [h], [d, h], [d]]


def layer_of(call: dict) -> nn.Module:
    """A layer of two matrices, of which a call's `sizes` are the units outside and inside; its weights say nothing.
    Where it is `tied`, both sizes are the same, and both matrices are one parameter."""
    d, h = call["sizes"]
    layer = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, d)).double()
    if call.get("tied"):
        layer[2].weight = layer[0].weight
    return layer


def shards_of(call: dict, rank: int, size: int) -> list[torch.Tensor]:
    """What a rank has of each parameter; behind the last row are other numbers, not zeros."""
    return [
        drawn(call["seed"] + 100 * rank + number, [rows_of(shape[0], size), *shape[1:]]) - 1
        for number, shape in enumerate(shapes_of(call))
    ]


def weights_of(call: dict, size: int) -> list[torch.Tensor]:
    """The parameters that all ranks' shards make."""
    by_rank = [shards_of(call, rank, size) for rank in range(size)]
    return [
        torch.cat([shards[number] for shards in by_rank])[: shape[0]] for number, shape in enumerate(shapes_of(call))
    ]


def batch_of(call: dict, rank: int) -> torch.Tensor:
    """A rank's samples."""
    return drawn(call["seed"] + 17 * rank + 5, [2, call["sizes"][0]])


def gradients_of(call: dict, rank: int) -> list[torch.Tensor | None]:
    """A rank's gradients. A call's `missing` are pairs of a rank and a parameter's number."""
    return [
        None if [rank, number] in call["missing"] else drawn(call["seed"] + 100 * rank + number + 50, shape)
        for number, shape in enumerate(shapes_of(call))
    ]


def before_of(call: dict, rank: int, size: int) -> list[torch.Tensor | None]:
    """What is in `.grad` of a rank's shards already: zeros behind the last row, and nothing where the call says so."""
    found = []
    for number, shape in enumerate(shapes_of(call)):
        count = rows_of(shape[0], size)
        grad = drawn(call["seed"] + 100 * rank + number + 70, [count, *shape[1:]])
        grad[max(0, shape[0] - rank * count) :] = 0
        found.append(grad if call["before"] else None)
    return found
