"""f and g, as the check brings them for whoever has not written them: runs beside the student's code."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist


def total(x: torch.Tensor, group: Any) -> torch.Tensor:
    """A new tensor: the sum over the ranks."""
    copy = x.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(copy, group=group)
    return copy


class SummedBackward(torch.autograd.Function):
    """f."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        """x as it is."""
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The sum."""
        return total(gradient, ctx.group), None


class SummedForward(torch.autograd.Function):
    """g."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        """The sum."""
        return total(x, group)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The gradient as it is."""
        return gradient, None


def copy_to_ranks(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """x as it is; going back, the sum of the gradients."""
    return SummedBackward.apply(x, group)


def sum_over_ranks(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """The sum of the ranks' x; going back, the gradient as it is."""
    return SummedForward.apply(x, group)
