"""A model whose gradients take other bytes than its weights."""

from __future__ import annotations

import torch
from torch import nn

KINDS = {"float32": torch.float32, "float16": torch.float16, "float64": torch.float64, "bfloat16": torch.bfloat16}


class Tied(nn.Module):
    """A small model with a tied, a frozen and a half-precision parameter, and with buffers. plan: sizes and types."""

    def __init__(self, plan: dict) -> None:
        super().__init__()
        kind, other, width = KINDS[plan["type"]], KINDS[plan["other"]], plan["width"]
        self.scale = nn.Parameter(torch.ones(plan["scale"], dtype=other))
        self.embed = nn.Linear(width, width, bias=False, dtype=kind)
        self.inner = nn.Sequential(
            nn.Linear(width, plan["hidden"], dtype=kind), nn.BatchNorm1d(plan["hidden"], dtype=kind)
        )
        self.frozen = nn.Parameter(torch.ones(plan["frozen"], dtype=kind), requires_grad=False)
        self.register_buffer("mask", torch.ones(plan["mask"], dtype=kind))
        self.head = nn.Linear(width, width, bias=False, dtype=kind)
        if plan["tied"]:
            self.head.weight = self.embed.weight


def built(plan: dict) -> Tied:
    """The model of a call, where the plan says."""
    with torch.device("meta" if plan["meta"] else "cpu"):
        return Tied(plan)
