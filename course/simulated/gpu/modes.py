"""What torch's functions do on a simulated GPU: where their results are, and which of them refuse their arguments.

Two of torch's modes share the work. `Operations` sees every operation of ATen, also in the backward pass: it lets none
mix devices, and its results are where its arguments were. `Functions` sees what code calls: it takes `device=`,
`.to`, `.cuda` and `.cpu` as orders, and answers questions such as `.device`. The tensors themselves are ordinary ones
in this machine's memory. So autograd, optimizers, DistributedDataParallel and Horovod run as they are, C++ included;
what their C++ parts allocate for themselves is *open* and counts as on the right device (see `storages.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .rules import DeviceMismatch, refuse_mixtures, refuse_to_communicate
from .storages import CPU, Storages

TO_NUMPY = "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
# Make a tensor of data, which may hold tensors, wherever these are.
FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)


class Operations(TorchDispatchMode):
    """Sees each operation of ATen, and what torch.distributed communicates. nccl: gives the number of the GPU from
    which it does so by NCCL; None if it does not.

    agreeing: whether DistributedDataParallel's reducer may now send which parameter is in which bucket, as 32-bit
    numbers that C++ has made for the right device, unseen.
    """

    def __init__(self, where: Storages, nccl: Callable[[], int] | None = None) -> None:
        super().__init__()
        self.where, self.nccl, self.agreeing = where, nccl, False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: nothing is compiled here, and to import torch._dynamo takes a second."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call it, unless it mixes devices."""
        kwargs = kwargs or {}
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        known = {id(each) for each in tensors}
        if not in_backward():
            refuse_mixtures(func, args, kwargs, self.where)
            if self.nccl:
                sent = [each for each in tensors if not (self.agreeing and each.dtype == torch.int32)]
                refuse_to_communicate(func, sent, self.where, torch.device("cuda", self.nccl()))
        device = common(tensors, self.where)
        for each in tensors:
            if self.where.of(each) is None and device is not None:
                self.where.place(each, device)
        result = func(*args, **kwargs)
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and id(each) not in known and not self.is_view(each, tensors):
                self.where.place(each, device)
        return result

    @staticmethod
    def is_view(result: Tensor, tensors: Sequence[Tensor]) -> bool:
        """Whether it is one of these tensors' storage."""
        with torch._C.DisableTorchFunction():
            return any(torch._C._is_alias_of(result, each) for each in tensors)


class Functions(TorchFunctionMode):
    """Sees each function of torch that code calls. current: gives the number of the GPU that is the current one."""

    def __init__(self, where: Storages, current: Callable[[], int]) -> None:
        super().__init__()
        self.where, self.current, self.default = where, current, CPU

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call it, and note where its result is."""
        kwargs = kwargs or {}
        if func in self.answers:
            return self.answers[func](self, func, args, kwargs)
        ordered, args, kwargs = self.without_devices(func, args, kwargs)
        result = func(*args, **kwargs)
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        if ordered is not None:
            return tree_map(lambda each: self.on(each, ordered, given), result)
        from_data = func in FROM_DATA and not isinstance(args[0] if args else None, Tensor)
        there = (None if from_data else common(given, self.where)) or self.default
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and (self.where.of(each) is None or not self.where.known(each) or from_data):
                self.where.place(each, there)
        return result

    def without_devices(self, func: Any, args: tuple, kwargs: dict) -> tuple[torch.device | None, tuple, dict]:
        """The device that is asked for, None if none is; and the arguments for this machine, on which all is CPU."""
        ordered = None
        if func is Tensor.to and len(args) > 1:
            target = args[1]
            if isinstance(target, Tensor):
                with torch._C.DisableTorchFunction():
                    ordered, args = self.where.of(target) or CPU, (args[0], target.dtype, *args[2:])
            elif isinstance(target, (torch.device, str, int)) and not isinstance(target, bool):
                ordered, args = self.meant(target), (args[0], "cpu", *args[2:])
        if kwargs.get("other") is not None and func is Tensor.to:
            ordered = self.where.of(kwargs["other"])
        if kwargs.get("device") is not None:
            ordered, kwargs = self.meant(kwargs["device"]), {**kwargs, "device": CPU}
        if ordered is not None and ordered.type == "cuda" and kwargs.get("pin_memory"):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return ordered, args, {name: value for name, value in kwargs.items() if name != "pin_memory"}

    def meant(self, device: Any) -> torch.device:
        """The device that is named by ``"cuda"``, ``torch.device("cuda", 1)`` or ``1``, with its index."""
        named = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        return torch.device("cuda", self.current()) if named.type == "cuda" and named.index is None else named

    def on(self, value: Any, device: torch.device, given: Sequence[Tensor]) -> Any:
        """`value` on this device: a copy of it, if it is one of the `given` tensors and these are elsewhere."""
        if not isinstance(value, Tensor):
            return value
        if any(Operations.is_view(value, [each]) for each in given):
            if self.where.of(value) == device:
                return value
            value = value.clone()
        self.where.place(value, device)
        return value

    def device(self, func: Any, args: tuple, kwargs: dict) -> torch.device:
        """Of a tensor. One on the meta device has no memory, and stays there."""
        with torch._C.DisableTorchFunction():
            actual = args[0].device
        return actual if actual.type == "meta" else self.where.of(args[0]) or self.default

    def to_cuda(self, func: Any, args: tuple, kwargs: dict) -> Tensor:
        """On a GPU, the current one if none is named."""
        named = args[1] if len(args) > 1 else kwargs.get("device")
        return self.on(args[0], self.meant("cuda" if named is None else named), args[:1])

    def to_numpy(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """An array for the CPU's tensors alone."""
        if (there := self.where.of(args[0])) not in (None, CPU):
            error = DeviceMismatch(TO_NUMPY.format(there), [(args[0], there)])
            raise NotOnHost(*error.args, error.tensors)
        return func(*args, **kwargs)

    def written(self, func: Any, args: tuple, kwargs: dict) -> str:
        """How a tensor is printed."""
        text, there = func(*args, **kwargs), self.where.of(args[0])
        return f"{text[:-1]}, device='{there}')" if there not in (None, CPU) and text.endswith(")") else text

    answers: ClassVar[dict[Any, Callable]] = {
        Tensor.device.__get__: device,
        Tensor.is_cuda.__get__: lambda self, func, args, kwargs: self.device(func, args, kwargs).type == "cuda",
        Tensor.is_cpu.__get__: lambda self, func, args, kwargs: self.device(func, args, kwargs).type == "cpu",
        Tensor.get_device: lambda self, func, args, kwargs: number_of(self.device(func, args, kwargs)),
        Tensor.cuda: to_cuda,
        Tensor.cpu: lambda self, func, args, kwargs: self.on(args[0], CPU, args[:1]),
        Tensor.numpy: to_numpy,
        Tensor.__array__: to_numpy,
        Tensor.__repr__: written,
        Tensor.pin_memory: lambda self, func, args, kwargs: args[0].clone(),
    }


def in_backward() -> bool:
    """Whether autograd's engine runs in this thread: there, all is where the forward pass put it, or DDP's own."""
    return torch._C._current_graph_task_id() != -1


class NotOnHost(DeviceMismatch, TypeError):
    """A tensor on a GPU was to become an array: torch raises TypeError."""


def number_of(device: torch.device) -> int:
    """As `Tensor.get_device` gives it: -1 for the CPU."""
    return -1 if device.index is None else device.index


def common(tensors: Sequence[Tensor], where: Storages) -> torch.device | None:
    """Where the result of an operation with these tensors is: with the first that is more than a number on the CPU.

    None: that cannot be said, as all of them, if there are any, are open.
    """
    devices = [(where.of(each), each.dim()) for each in tensors]
    placed = [(device, dim) for device, dim in devices if device is not None]
    wide = [device for device, dim in placed if not (device == CPU and dim == 0)]
    return wide[0] if wide else placed[0][0] if placed else None
