"""A case on a GPU: device mistakes that a machine without one never notices.

A check's `gpu_case` gets the mark `ON_GPU`. It runs on the machine's GPU, or where there is none on a simulated one
(see `course.simulated.gpu`). All that is judged of this run is whether it stopped because a tensor was on another
device than it had to be; whatever else becomes of it is no mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

ON_GPU = "gpu"  # key of the case that is run there
ON_OTHER_GPUS = "other_gpus"  # key of such a case in which simulated GPUs have other numbers than their ranks
TORCH_SAYS = ("Expected all tensors to be on the same device", "Cannot copy between CPU and", "device type cpu")
TORCH_SAYS += ("can't convert cuda", "indices should be either on", "Input type (torch.FloatTensor)")
TORCH_SAYS += ("Device string must not be empty", "Invalid device string")


class DeviceMistake(RuntimeError):
    """What the student's code did with tensors on several devices, in words."""


def on_gpu(case: dict, comm: Any, filename: str) -> Any:
    """The block in which this rank runs a case: on a GPU of its own if the case has the mark, else as it is.

    filename: of the student's cell. In the block DeviceMistake is raised for torch's errors that mean one.
    """
    if not case.get(ON_GPU):
        return nullcontext()
    beside = int(case.get(ON_OTHER_GPUS, False))
    return gpu_block(comm.rank + beside, comm.size + beside, filename)


@contextmanager
def gpu_block(number: int, count: int, filename: str) -> Iterator[None]:
    """See `on_gpu`. number, count: of the GPU, if it is a simulated one, and of how many."""
    import torch.distributed as dist

    from course.simulated.gpu.block import gpu

    backend = "nccl" if dist.is_available() and dist.is_initialized() else None
    with gpu(number, count, backend):
        try:
            yield
        except (RuntimeError, TypeError) as error:
            if any(text in str(error) for text in TORCH_SAYS):
                raise DeviceMistake(told(error, filename)).with_traceback(error.__traceback__) from None
            raise


def told(error: BaseException, filename: str) -> str:
    """The mistake in words: which tensor is where, what it meets, and the line of the cell.

    An error of torch's own, on a real GPU, does not say which tensors it met.
    """
    frame, line = cell_frame(error, filename)
    where = f" (cell line {line})" if line else ""
    tensors = [(name_of(tensor, frame), device) for tensor, device in getattr(error, "tensors", ())]
    if not tensors:
        return f"{error}{where}"
    (name, device), *others = tensors
    place = "the CPU" if device.type == "cpu" else str(device)
    name = name or "a tensor"
    if others:
        other, there = others[0]
        there = "the CPU" if there.type == "cpu" else str(there)
        return f"{name} is on {place}, and {other or 'what it meets'} on {there}{where}"
    if current := getattr(error, "current", None):
        return f"{name} is on {place}, and the current GPU of this rank is {current}{where}"
    reason = "NCCL sends and receives on GPUs alone" if device.type == "cpu" else "an array is in the CPU's memory"
    return f"{name} is on {place}, and {reason}{where}"


def cell_frame(error: BaseException, filename: str) -> tuple[FrameType | None, int | None]:
    """The innermost frame of the cell in an error's traceback, and its line."""
    found, trace = (None, None), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def name_of(tensor: Any, frame: FrameType | None) -> str | None:
    """What the cell calls this tensor, or one on the same memory, or the module that it belongs to."""
    import torch

    with torch._C.DisableTorchFunction():
        for name, value in [*frame.f_locals.items()] if frame else ():
            parts = [*value] if isinstance(value, (list, tuple)) else [value]
            if isinstance(value, torch.nn.Module):
                parts = [*value.parameters(), *value.buffers()]
            alike = [place for place, part in enumerate(parts) if same_memory(part, tensor)]
            if alike:
                return f"`{name}[{alike[0]}]`" if isinstance(value, (list, tuple)) else f"`{name}`"
    return None


def same_memory(value: Any, tensor: Any) -> bool:
    """Whether both are tensors, on one storage."""
    import torch

    return isinstance(value, torch.Tensor) and torch._C._is_alias_of(value, tensor)
