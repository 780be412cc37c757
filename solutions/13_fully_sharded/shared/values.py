"""Tensors that both sides draw from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def drawn(seed: int, shape: Sequence[int], dtype: str = "float64") -> torch.Tensor:
    """A tensor. No entry of it is near zero."""
    values = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (values + 0.5).to(getattr(torch, dtype))


def rows_of(n: int, size: int) -> int:
    """Rows of a shard of n rows."""
    return (n + size - 1) // size


def zeros_behind(own: torch.Tensor, n: int, rank: int) -> torch.Tensor:
    """A rank's shard of n rows, in which zeros are written behind the last one."""
    own[max(0, n - rank * len(own)) :] = 0
    return own
