"""A small model and its optimizer as a checkpoint has to bring them back: with buffers, a frozen and a tied weight."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH = 3
STEPS = 2  # that the optimizer has made, so that it has a state of its own


class Checkpointed(torch.nn.Module):
    """inputs [B, WIDTH] -> outputs [B, WIDTH], in float64. `submodule` ends in "module", and `output`, which is tied
    to it, begins with letters of it.

    seed: of weights and buffers.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.submodule = torch.nn.Linear(WIDTH, WIDTH)
        self.norm = torch.nn.BatchNorm1d(WIDTH)
        self.frozen = torch.nn.Parameter(torch.empty(WIDTH, WIDTH), requires_grad=False)
        self.output = self.submodule.weight
        self.double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for value in [*self.parameters(), self.norm.running_mean, self.norm.running_var]:
                value.copy_(torch.rand(value.shape, generator=generator, dtype=torch.float64) + 0.5)
            self.norm.num_batches_tracked.fill_(seed % 1000 + 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs [B, WIDTH] -> outputs [B, WIDTH]."""
        return self.norm(self.submodule(inputs) @ self.frozen) @ self.output


def trained(seed: int, kind: str, steps: int = STEPS) -> tuple[Checkpointed, torch.optim.Optimizer]:
    """A model, on the device of the process group if there is one, and its optimizer after some steps.

    kind: "momentum" for SGD, or "adam". Learning rate, weights and gradients come from `seed` alone.
    """
    model = Checkpointed(seed).to(group_device())
    lr = 0.01 * (seed % 9 + 1)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if kind == "momentum":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(parameters, lr, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(parameters, lr)
    generator = torch.Generator().manual_seed(seed + 1)
    for _ in range(steps):
        for parameter in parameters:
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.grad = drawn.to(parameter.device)
        optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def wrapped(model: torch.nn.Module) -> DistributedDataParallel:
    """`model`, as training has it."""
    return DistributedDataParallel(model)


def group_device() -> torch.device:
    """Where the default process group has its tensors; the CPU where there is no group."""
    on_gpu = dist.is_initialized() and dist.get_backend() == "nccl"
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")


def as_plain(value: Any) -> Any:
    """A state dict as plain JSON: a tensor is the list of its numbers, a key its text, what JSON has not its type."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().flatten().tolist()
    if isinstance(value, dict):
        return {str(key): as_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(entry) for entry in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return f"a {type(value).__name__}"


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> dict:
    """What a checkpoint of these holds, as plain JSON. model: not wrapped."""
    return as_plain({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch})


def same(one: Any, other: Any) -> bool:
    """Whether two pieces of plain JSON are the same, numbers but for rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) in (int, float) and type(other) in (int, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return type(one) is type(other) and one == other


def read_checkpoint(path: str) -> dict:
    """What is in a file: ``{"there", "error", "content"}``, one of the last two None. Never raises for a bad file."""
    if not os.path.exists(path):
        return {"there": False, "error": None, "content": None}
    try:
        content = as_plain(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # whatever torch.load makes of half a file
        return {"there": True, "error": f"{type(error).__name__}: {error}"[:300], "content": None}
    return {"there": True, "error": None, "content": content}


def fingerprint(path: str) -> str | None:
    """What tells one file from another; None where there is no file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return None


def epoch_in(path: str) -> int | None:
    """The epoch in a checkpoint; None where there is no file, -1 where there is none in it, or it cannot be read."""
    seen = read_checkpoint(path)
    if not seen["there"]:
        return None
    epoch = seen["content"].get("epoch") if isinstance(seen["content"], dict) else -1
    return epoch if type(epoch) is int and 0 <= epoch < 2**53 else -1


def write_as_a_gpu(state: Any, path: str) -> None:
    """Save `state` as a rank would whose tensors are on the first GPU: so it says in the file."""
    with mock.patch.object(torch.serialization, "location_tag", lambda storage: "cuda:0"):
        torch.save(state, path)
