"""Tensors that both sides draw from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def drawn(seed: int, shape: Sequence[int]) -> torch.Tensor:
    """A tensor in float64. No entry of it is near zero."""
    values = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values + 0.5


def rows_of(n: int, size: int) -> int:
    """Rows of a shard of n rows."""
    return (n + size - 1) // size
