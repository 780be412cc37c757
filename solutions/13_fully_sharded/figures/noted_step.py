"""Notes what a rank holds at each moment of a step with sharded layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from course.models.memory import memory

from .held_film import Moment


def noted_step(
    make: Callable[[Sequence[nn.Module]], nn.Module], layers: Sequence[nn.Module], x: torch.Tensor
) -> tuple[list[Moment], list[int]]:
    """A forward and a backward pass on this rank: what it holds at each moment, and bytes of each layer's weights.

    make: gives the sharded model of these layers, whose parameters are the shards in order. x: samples.
    """
    whole, counts = [memory(layer.parameters()) for layer in layers], [len([*layer.parameters()]) for layer in layers]
    model, moments = make(layers), []
    shards = [memory(own) for own in split([*model.parameters()], counts)]

    def note(what: str) -> None:
        moments.append(Moment(what, shards, [memory(layer.parameters()) for layer in layers]))

    def watch(number: int, layer: nn.Module) -> None:
        def forward(module: nn.Module, arguments: tuple, y: torch.Tensor) -> None:
            note(f"Layer {number}, forward")
            y.register_hook(lambda gradient: note(f"Layer {number}, backward"))

        layer.register_forward_hook(forward)

    for number, layer in enumerate(layers):
        watch(number, layer)
    note("Before the step")
    loss = model(x).square().mean()
    note("Between the passes")
    loss.backward()
    note("After the step")
    return moments, whole


def split(values: list, counts: Sequence[int]) -> list[list]:
    """The values in lists of these lengths."""
    ends = [sum(counts[: number + 1]) for number in range(len(counts))]
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]
