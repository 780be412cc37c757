"""Gradients of a line's squared error, by autograd."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def sample_gradients(x: Sequence[float], y: Sequence[float], points: Sequence) -> torch.Tensor:
    """Gradient of every sample's squared error at every one of `points` [T, 2].

    x, y: n numbers each. Returns float64 [T, n, 2]; the last axis is (d/dm, d/dn).
    """
    x, y = (torch.as_tensor(values, dtype=torch.float64) for values in (x, y))
    here = torch.as_tensor(points, dtype=torch.float64).reshape(-1, 1, 2).repeat(1, len(x), 1).requires_grad_()
    return torch.autograd.grad(((here[..., 0] * x + here[..., 1] - y) ** 2).sum(), here)[0]
