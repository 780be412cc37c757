"""A model whose layers take as long as they should, and compute next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel


class LayerStack(torch.nn.Module):
    """`layers` layers in a row, each of which sleeps `forward` seconds, and `backward` seconds in a backward pass.

    Each has one parameter of WEIGHTS float32 numbers, whose gradient is there when its backward pass is over: as many
    ones, times a number that differs by layer. `notes`: (layer, start, end) of each of these passes, by
    time.perf_counter(). The forward pass takes a tensor of one number, and returns one.
    """

    WEIGHTS = 24_576

    def __init__(self, layers: int, forward: float, backward: float) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.ones(self.WEIGHTS) for _ in range(layers))
        self.seconds = forward, backward
        self.notes: list[tuple[int, float, float]] = []

    def forward(self, number: torch.Tensor) -> torch.Tensor:
        """number [1] -> a number [1]."""
        for layer, weights in enumerate(self.weights):
            number = SleepingLayer.apply(number, weights, layer, self)
        return number


class SleepingLayer(torch.autograd.Function):
    """One of the layers."""

    @staticmethod
    def forward(ctx: Any, number: torch.Tensor, weights: torch.Tensor, layer: int, stack: LayerStack) -> torch.Tensor:
        """Sleep; the number passes."""
        ctx.layer, ctx.stack, ctx.like = layer, stack, weights
        time.sleep(stack.seconds[0])
        return number.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        """Sleep, and give the layer's gradient."""
        start = time.perf_counter()
        time.sleep(ctx.stack.seconds[1])
        own = torch.full_like(ctx.like, gradient.item() * (ctx.layer + 1))
        ctx.stack.notes.append((ctx.layer, start, time.perf_counter()))
        return gradient, own, None, None


def timed_steps(ddp: DistributedDataParallel, steps: int, meet: Callable[[], object]) -> list[dict]:
    """Forward and backward passes of a wrapped LayerStack. meet: called before each step, so that all ranks begin it
    together.

    By step, in seconds since it began: `backward`, when that pass began and ended; `last`, its end once more; `layers`,
    (layer, start, end) of each, in the order of the pass.
    """
    seen = []
    for _ in range(steps):
        ddp.module.notes.clear()
        meet()
        began = time.perf_counter()
        loss = ddp(torch.ones(1))
        backward = time.perf_counter() - began
        loss.backward()
        ended = time.perf_counter() - began
        layers = [(layer, start - began, end - began) for layer, start, end in ddp.module.notes]
        seen.append({"backward": (backward, ended), "last": ended, "layers": layers})
    return seen
