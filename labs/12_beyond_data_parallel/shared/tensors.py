"""Tensors that both sides draw from a seed, in several layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

BY_RANK = "transposed on some ranks"  # a layout


def drawn(seed: int, shape: Sequence[int], layout: str = "plain") -> torch.Tensor:
    """A tensor in float64. layout: "plain", "transposed" or "expanded", which has all rows in one place.

    Behind that place there is room for the other rows: gloo writes as many numbers as a tensor has, wherever they are.
    """
    draw = torch.Generator().manual_seed(seed)
    if layout == "expanded":
        room = torch.zeros(math.prod(shape), dtype=torch.float64)
        return room[: shape[-1]].copy_(torch.randn(shape[-1], generator=draw, dtype=torch.float64)).expand([*shape])
    values = torch.randn([*shape], generator=draw, dtype=torch.float64)
    return values.mT.contiguous().mT if layout == "transposed" else values


def layout_on(rank: int, layout: str) -> str:
    """The layout of a rank's tensor, as `drawn` takes it."""
    return ("transposed" if rank % 2 else "plain") if layout == BY_RANK else layout
