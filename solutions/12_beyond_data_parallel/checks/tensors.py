"""Tensors that both sides draw from a seed, in several layouts, and how they are shown: runs beside the student's
code."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from autograde.contract.calls import type_in_words

LUCK = "autograd kernel was not registered"  # in torch's warning


def drawn(seed: int, shape: list[int], layout: str = "plain") -> torch.Tensor:
    """A tensor in float64. layout: "plain", "transposed" or "expanded", which has all rows in one place.

    Behind that place there is room for the other rows: gloo writes as many numbers as a tensor has, wherever they are.
    """
    draw = torch.Generator().manual_seed(seed)
    if layout == "expanded":
        room = torch.zeros(math.prod(shape), dtype=torch.float64)
        return room[: shape[-1]].copy_(torch.randn(shape[-1], generator=draw, dtype=torch.float64)).expand(shape)
    values = torch.randn(shape, generator=draw, dtype=torch.float64)
    return values.mT.contiguous().mT if layout == "transposed" else values


def shown(value: Any) -> dict:
    """A value that should be a tensor, as plain data: its shape and its numbers, or what it is instead."""
    if not isinstance(value, torch.Tensor) or value.is_complex():
        return {"kind": type_in_words(value), "shape": [], "values": []}
    numbers = value.detach().double().cpu().reshape(-1)
    values = [float(each) if each.isfinite() else None for each in numbers[:1000]]
    return {"kind": str(value.dtype).removeprefix("torch."), "shape": [*value.shape], "values": values}


@contextmanager
def by_luck(seen: dict) -> Iterator[None]:
    """Notes in `seen` as "warned" whether torch warned in the block that it knows no gradient for a call."""
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    seen["warned"] = any(LUCK in str(each.message) for each in caught)
