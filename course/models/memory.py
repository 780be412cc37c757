"""Memory behind tensors, in bytes: of those that a program holds, and of those that autograd keeps for `backward`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch


def memory(tensors: Iterable[torch.Tensor | None]) -> int:
    """Bytes of the memory in which these tensors are. What several of them share, such as views, counts once."""
    storages = [each.untyped_storage() for each in tensors if each is not None]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def optimizer_memory(optimizer: torch.optim.Optimizer) -> int:
    """Bytes that an optimizer keeps about its parameters, such as their momentum."""
    return memory(each for state in optimizer.state.values() for each in state.values() if torch.is_tensor(each))


@contextmanager
def kept_for_backward(without: Iterable[torch.Tensor] = ()) -> Iterator[list[torch.Tensor]]:
    """Yields a list, in which are the tensors that operations in the block keep for `backward`.

    without: tensors that are there anyhow, such as parameters. The list holds what is in it: clear it when it is
    counted.
    """
    there = {each.untyped_storage().data_ptr() for each in without}
    kept: list[torch.Tensor] = []

    def noted(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in there:
            kept.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(noted, lambda tensor: tensor):
        yield kept
