"""f and g for whoever has not written them: runs beside the student's code.

They are no models for answers: each rank gets all parts as objects, and adds them up itself. A call and a sum of one
all-reduce is noted, for the verdict to count in place of what was really sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def stand_ins(sums: list[int]) -> dict[str, Callable]:
    """Both functions by name. sums: where each sum over the ranks is noted, by the bytes that an all-reduce has."""

    def added(x: torch.Tensor, group: Any) -> torch.Tensor:
        parts: list = [None] * dist.get_world_size(group)
        sums.append(x.numel() * x.element_size())
        dist.all_gather_object(parts, x.detach().cpu().contiguous(), group=group)
        return torch.stack(parts).sum(0).to(x.device)

    def copy_to_ranks(x: torch.Tensor, group: Any = None) -> torch.Tensor:
        y = x.view_as(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: added(gradient, group))
        return y

    def sum_over_ranks(x: torch.Tensor, group: Any = None) -> torch.Tensor:
        return x + (added(x, group) - x.detach())

    return {"copy_to_ranks": copy_to_ranks, "sum_over_ranks": sum_over_ranks}
