"""On which device the memory of each tensor is said to be.

The device belongs to the storage, not to the tensor: views, `detach()`, what autograd saves for the backward pass and
what DistributedDataParallel hands to C++ are other tensors on the same storage.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CPU = torch.device("cpu")
SWEEP = 4096  # entries after which those of freed storages are dropped, at the earliest


class Storages:
    """The devices of storages. One that was never placed is on the CPU, as on any machine.

    A storage may also be *open*: it was made inside a library, which did not say to us for which device. It gets the
    device of what it first meets.
    """

    def __init__(self) -> None:
        self.placed: dict[int, tuple[torch.device | None, Any]] = {}  # by address: device, None where open; a weak ref
        self.sweep_at = SWEEP

    def place(self, tensor: Tensor, device: torch.device | None) -> None:
        """Say that the storage of `tensor` is on `device`; None: that it is open."""
        storage = storage_of(tensor)
        if storage is None:
            return
        address = storage._cdata
        # The weak reference keeps the address from being given to another storage.
        reference = self.placed[address][1] if address in self.placed else WeakStorage(storage)
        self.placed[address] = device, reference
        if len(self.placed) > self.sweep_at:
            self.placed = {key: entry for key, entry in self.placed.items() if not entry[1].freed()}
            self.sweep_at = max(SWEEP, 2 * len(self.placed))

    def of(self, tensor: Tensor) -> torch.device | None:
        """Where it is; None: open."""
        storage = storage_of(tensor)
        return CPU if storage is None else self.placed.get(storage._cdata, (CPU,))[0]

    def known(self, tensor: Tensor) -> bool:
        """Whether its storage was ever placed, be it as open."""
        storage = storage_of(tensor)
        return storage is not None and storage._cdata in self.placed


class WeakStorage:
    """A weak reference to a storage."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.reference = storage._weak_ref()

    def freed(self) -> bool:
        """Whether nothing uses the storage any more."""
        return torch.UntypedStorage._expired(self.reference)

    def __del__(self) -> None:
        torch.UntypedStorage._free_weak_ref(self.reference)


def storage_of(tensor: Tensor) -> torch.UntypedStorage | None:
    """The storage of a tensor; None for tensors that have none, such as sparse ones."""
    with torch._C.DisableTorchFunction():
        try:
            return tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return None
