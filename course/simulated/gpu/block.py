"""A block of code that finds GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .modes import Functions, Operations
from .storages import Storages


@contextmanager
def simulated_gpu(index: int = 0, count: int | None = None, backend: str | None = None) -> Iterator[torch.device]:
    """In this block torch finds `count` GPUs, of which number `index` is the current one; gives its device.

    What was made before is on the CPU. Operations on tensors of several devices raise `DeviceMismatch`, a RuntimeError
    with torch's message, or a TypeError where a tensor on a GPU is to become an array. backend: what torch.distributed
    says that it runs on; with "nccl", its collectives refuse tensors that are not on the current GPU: the others are
    other ranks'. Horovod takes all.

    The tensors are in this machine's memory, so that all is computed and communicated as without the block. Up to the
    doors of DistributedDataParallel's and Horovod's C++ parts the rules hold; within, nothing is refused. Streams,
    events, CUDA's random generators and `torch.load` to a GPU are not simulated: they raise what torch raises where
    there is no GPU.
    """
    where, current = Storages(), [index]
    functions = Functions(where, lambda: current[0])
    operations = Operations(where, (lambda: current[0]) if backend == "nccl" else None)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, PYTORCH_DDP_USE_SIDE_STREAM="0"))  # copies need no streams
        patch_cuda(stack, current, index + 1 if count is None else count)
        patch_default_device(stack, functions)
        if backend is not None and dist.is_available():
            patch_distributed(stack, backend)
            patch_reducer(stack, operations)
        stack.enter_context(operations)
        stack.enter_context(functions)
        yield torch.device("cuda", index)


def patch_cuda(stack: ExitStack, current: list[int], count: int) -> None:
    """Let torch.cuda find the GPUs."""

    def choose(device: Any) -> None:
        number = device if isinstance(device, int) else torch.device(device).index
        current[0] = current[0] if number is None or number < 0 else number

    def idle() -> Callable[..., None]:
        """A function that does nothing: nothing runs in the background. Each is its own, as torch._dynamo wants."""
        return lambda *args, **kwargs: None

    cuda = {"is_available": lambda: True, "device_count": lambda: count, "current_device": lambda: current[0]}
    cuda |= {"set_device": choose, "synchronize": idle(), "empty_cache": idle(), "manual_seed": idle()}
    cuda |= {"manual_seed_all": idle(), "is_initialized": lambda: False}
    cuda |= {"is_current_stream_capturing": lambda: False}  # optimizers ask
    replace(stack, torch.cuda, cuda)
    any_kind = {"is_available": lambda: True, "device_count": lambda: count, "set_device_index": choose}
    any_kind |= {"current_device_index": lambda: current[0], "synchronize": idle()}
    any_kind |= {"current_accelerator": lambda check_available=False: torch.device("cuda")}
    any_kind |= {"current_stream": lambda device=None: SimpleNamespace(is_capturing=lambda: False)}
    replace(stack, torch.accelerator, any_kind)


def patch_default_device(stack: ExitStack, functions: Functions) -> None:
    """Let torch.set_default_device choose among them."""

    def choose(device: Any) -> None:
        functions.default = functions.meant("cpu" if device is None else device)

    replace(stack, torch, {"set_default_device": choose, "get_default_device": lambda: functions.default})


def patch_distributed(stack: ExitStack, backend: str) -> None:
    """Let torch.distributed name this backend. With NCCL, objects travel as tensors on the current GPU."""
    replace(stack, dist, {"get_backend": lambda group=None: backend})
    if backend == "nccl":
        replace(stack, dist.distributed_c10d, {"_get_object_coll_device": lambda group=None: "cuda"})
        replace(stack, torch.cuda.nccl, {"version": lambda: (2, 0, 0)})  # the log of a failed call tells it


def patch_reducer(stack: ExitStack, operations: Operations) -> None:
    """Let a reducer of DistributedDataParallel make its buckets anew: it does so before the second forward pass."""
    before = DistributedDataParallel._pre_forward

    def before_forward(self: DistributedDataParallel, *args: Any, **kwargs: Any) -> Any:
        operations.agreeing = True
        try:
            return before(self, *args, **kwargs)
        finally:
            operations.agreeing = False

    replace(stack, DistributedDataParallel, {"_pre_forward": before_forward})


def replace(stack: ExitStack, module: Any, functions: dict[str, Callable]) -> None:
    """Put these in place of the module's functions, of those that this version of torch has."""
    for name, function in functions.items():
        if hasattr(module, name):
            stack.enter_context(mock.patch.object(module, name, function))


def gpu(index: int = 0, count: int | None = None, backend: str | None = None) -> Any:
    """A block with a GPU: the machine's own current one, where there is one; else a simulated one."""
    if torch.cuda.is_available():
        return nullcontext(torch.device("cuda", torch.cuda.current_device()))
    return simulated_gpu(index, count, backend)
