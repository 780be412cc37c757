"""Tensors that know whether they were moved to the model's device: a forgotten move shows without a GPU, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

NAMES = ("src", "tgt_in", "tgt_out")


class OnHost(Tensor):
    """A tensor on the CPU that nobody has moved. What `.to(device)` and the like give is a plain tensor.

    What is computed from such tensors alone stays on the CPU, too, and is of this class.
    """

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call `func` on plain tensors."""
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        given = tree_leaves((args, kwargs))
        elsewhere = any(isinstance(each, (torch.device, str)) for each in given)
        elsewhere |= any(isinstance(each, Tensor) and not isinstance(each, cls) for each in given)
        elsewhere |= func is Tensor.cuda or (func is Tensor.to and any(type(each) is int for each in args[1:2]))
        kind = Tensor if elsewhere else cls
        return tree_map(lambda each: each.as_subclass(kind) if isinstance(each, Tensor) else each, result)

    def __deepcopy__(self, memo: dict) -> OnHost:
        """A copy, of this class."""
        return self.clone()


def unmoved(tensors: Sequence[Tensor], names: Sequence[str] = NAMES) -> list[str]:
    """The names of those tensors that nobody has moved."""
    return [name for name, tensor in zip(names, tensors, strict=False) if isinstance(tensor, OnHost)]


class Unmoved:
    """What reached a model, or a loss, without having been moved: `names`, which may be cleared at any time."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def inputs_of(self, model: torch.nn.Module) -> None:
        """Note what comes to this module. (What comes to a DistributedDataParallel is moved by it, on a GPU.)"""
        model.register_forward_pre_hook(lambda module, args: self.names.update(unmoved(args)))

    def loss_fn(self, loss_fn: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
        """`loss_fn`, which notes a target that is not where the logits are."""

        def noted(logits: Tensor, tgt_out: Tensor) -> Tensor:
            if not isinstance(logits, OnHost):
                self.names.update(unmoved([tgt_out], ["tgt_out"]))
            return loss_fn(logits, tgt_out)

        return noted
