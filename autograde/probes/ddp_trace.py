"""What a function does with a DistributedDataParallel: forward and backward passes, and what these communicate.

DistributedDataParallel communicates in C++, where `course.watch.events` does not see it. Here it does so by the
functions of torch.distributed, which are watched: so they are counted, and a rank that waits in one is found.
"""

# Without `from __future__ import annotations`: torch compares the hook's annotations with the types themselves.

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

MOST = 400  # entries of a trace that a probe tells


def trace_passes(model: DistributedDataParallel, optimizer: torch.optim.Optimizer | None = None) -> list[dict]:
    """Note from now on what happens to `model`, in order, on this rank; gives the list that grows. Each entry has:

    what: "forward" of the wrapped module; "backward", when its gradient reaches the output; "synchronise", one bucket
    of gradients averaged over the ranks; "step" of the optimizer.
    number: of the forward pass, from 0, that this belongs to: of the latest one that came backward, for the others.
    wrapped: whether a forward pass came through DistributedDataParallel, not directly to its module.
    inside: whether this happens inside `no_sync`. training, grads: whether the module is in train mode, and whether
    autograd records; of a forward pass, whether it has a graph. The list may be cleared at any time, but numbers go on.
    """
    entries: list[dict] = []
    state = {"forwards": 0, "backward": -1, "wrapped": False}

    def note(what: str, number: int, module: torch.nn.Module = model.module, grads: bool | None = None) -> None:
        inside, training = not model.require_backward_grad_sync, module.training
        flags = {"inside": inside, "training": training, "grads": torch.is_grad_enabled() if grads is None else grads}
        entries.append({"what": what, "number": number, "wrapped": state["wrapped"], **flags})

    def forward(module: torch.nn.Module, args: Any, output: torch.Tensor) -> None:
        number = state["forwards"]
        state["forwards"] += 1
        note("forward", number, module, output.requires_grad)
        if output.requires_grad:

            def backward(gradient: torch.Tensor) -> None:
                state["backward"] = number
                note("backward", number)

            output.register_hook(backward)

    def average(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        note("synchronise", state["backward"])
        gradients = bucket.buffer().div_(dist.get_world_size(group))
        dist.all_reduce(gradients, group=group)
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(gradients)
        return done

    model.register_forward_pre_hook(lambda module, args: state.update(wrapped=True))
    model.register_forward_hook(lambda module, args, output: state.update(wrapped=False))
    model.module.register_forward_hook(forward)
    model.register_comm_hook(model.process_group, average)
    if optimizer is not None:
        optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: note("step", state["backward"]))
    return entries


def buffers_noted(model: DistributedDataParallel) -> list[int]:
    """Let `model` no longer broadcast its buffers, as it does before a forward pass, but note how many it would: so
    ranks with different numbers of passes come through. Grows by one number each time."""
    broadcasts: list[int] = []
    model._distributed_broadcast_coalesced = lambda tensors, *_, **__: broadcasts.append(len(tensors))
    return broadcasts


@contextmanager
def recorded_wrapping(calls: list[dict], simulated: int | None = None, gpus: int = 0) -> Iterator[None]:
    """In this block, note in `calls` each model that moves to a device, and each DistributedDataParallel made.

    An entry: ``{"what": "to", "device": str}`` or ``{"what": "wrap", "device_ids": list of str or None, "options":
    names of the others that are not at their defaults}``. simulated: number of a GPU that is to be used, but is not
    there: then nothing moves, and what is wrapped is a DistributedDataParallel by type only. gpus: how many there
    are on its node then.
    """
    signature = inspect.signature(DistributedDataParallel.__init__)
    move, wrap = torch.nn.Module.to, DistributedDataParallel.__init__

    def to(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        device = kwargs.get("device", args[0] if args else None)
        calls.append({"what": "to", "device": name_of(device), "device_ids": None, "options": []})
        return module if simulated is not None else move(module, *args, **kwargs)

    def cuda(module: torch.nn.Module, device: Any = None) -> torch.nn.Module:
        return to(module, "cuda" if device is None else device)

    def init(self: DistributedDataParallel, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        ids = given.get("device_ids")
        options = [name for name, value in given.items() if changed(signature.parameters[name], value)]
        calls.append({"what": "wrap", "device": None, "device_ids": ids and [*map(name_of, ids)], "options": options})
        if simulated is not None:
            torch.nn.Module.__init__(self)
            self.module = given["module"]
        else:
            wrap(self, *args, **kwargs)

    with ExitStack() as stack:
        patches = [
            (torch.nn.Module, "to", to),
            (torch.nn.Module, "cuda", cuda),
            (DistributedDataParallel, "__init__", init),
        ]
        if simulated is not None:
            patches += [
                (torch.cuda, "set_device", lambda device: None),
                (torch.cuda, "current_device", lambda: simulated),
                (torch.cuda, "device_count", lambda: gpus),
            ]
        for owner, name, replaced in patches:
            stack.enter_context(mock.patch.object(owner, name, replaced))
        yield


def changed(parameter: inspect.Parameter, value: Any) -> bool:
    """Whether a named argument of DistributedDataParallel's other options has not its default."""
    if parameter.name == "process_group":
        return value is not None and value is not dist.group.WORLD
    known = ("self", "module", "device_ids", "output_device")
    return parameter.name not in known and value != parameter.default


def name_of(device: Any) -> str:
    """A device as text, a GPU always by its number: "cpu", "cuda:1"; the text of anything else."""
    if isinstance(device, int) and not isinstance(device, bool):
        return f"cuda:{device}"
    text = str(device)
    return "cuda:0" if text == "cuda" else text
