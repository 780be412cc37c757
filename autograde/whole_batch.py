"""What one process computes from the micro-batches of all ranks: loss and gradient of each, and of all together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from course.sentences import PAD, loss_fn

TOLERANCE = 1e-5  # relative: numbers of tokens, or a loss, may have gone through float32
Batch = tuple[Tensor, Tensor, Tensor]  # src, tgt_in, tgt_out


@contextmanager
def one_thread() -> Iterator[None]:
    """In this block, or decorated function, torch has one thread: on tiny tensors, two take twenty times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Part:
    """One micro-batch of one rank: its summed loss, the gradient of that [d], its tokens, and places with padding."""

    rank: int
    loss: float
    gradient: Tensor
    tokens: int
    places: int


def parts_of(model: torch.nn.Module, batches: Sequence[Sequence[Batch]]) -> list[Part]:
    """Each micro-batch of each rank, at the parameters and in the mode that `model` has. batches: by rank."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    parts = []
    for rank, own in enumerate(batches):
        for src, tgt_in, tgt_out in own:
            loss = loss_fn(model(src, tgt_in), tgt_out)
            gradient = torch.cat([each.flatten() for each in torch.autograd.grad(loss, trained)])
            parts.append(Part(rank, loss.item(), gradient, int((tgt_out != PAD).sum()), tgt_out.numel()))
    return parts


def due_gradient(parts: Sequence[Part]) -> Tensor:
    """Gradient [d] of the summed loss over the number of tokens, both over all parts."""
    return torch.stack([part.gradient for part in parts]).sum(0) / sum(part.tokens for part in parts)


def due_loss(parts: Sequence[Part]) -> float:
    """Mean loss per token over all parts."""
    return math.fsum(part.loss for part in parts) / sum(part.tokens for part in parts)


def close(value: Tensor, due: Tensor) -> bool:
    """Whether all entries are as they should be, but for what float32 may do to a common factor."""
    return bool(((value - due).abs() <= TOLERANCE * due.abs().max()).all())


def near(seen: Sequence[float | None] | None, due: Tensor) -> bool:
    """Whether numbers, None for what is not finite, are those due, [d]."""
    given = torch.tensor([math.nan if each is None else each for each in seen or [None]], dtype=torch.float64)
    return given.shape == due.shape and close(given, due)
