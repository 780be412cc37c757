"""Checkpoint files as plain data: what is in them, what tells one from another, and what a rank saves.

`autograde.rubric.checkpoints` judges it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from autograde.contract.calls import type_in_words


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
    return type_in_words(value)


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """The state dicts that a checkpoint of these holds, as plain JSON. model: not wrapped."""
    return as_plain({"model": model.state_dict(), "optimizer": optimizer.state_dict()})


def read_checkpoint(path: str) -> dict:
    """What is in a file: ``{"there", "error", "content"}``, one of the last two None. Never raises for a bad file."""
    if not os.path.exists(path):
        return {"there": False, "error": None, "content": None}
    try:
        content = as_plain(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # whatever torch.load makes of half a file
        return {"there": True, "error": f"{type(error).__name__}: {cause_in(str(error))}"[:300], "content": None}
    return {"there": True, "error": None, "content": content}


def epoch_in(path: str) -> int | None:
    """The epoch in a checkpoint; None where there is no file, -1 where there is none in it, or it cannot be read."""
    file = read_checkpoint(path)
    if not file["there"]:
        return None
    epoch = file["content"].get("epoch") if isinstance(file["content"], dict) else -1
    return epoch if type(epoch) is int and 0 <= epoch < 2**53 else -1


def fingerprint(path: str) -> str | None:
    """What tells one file from another; None where there is no file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return None


def write_as_a_gpu(state: Any, path: str) -> None:
    """Save `state` as a rank would whose tensors are on the first GPU: so it says in the file."""
    with mock.patch.object(torch.serialization, "location_tag", lambda storage: "cuda:0"):
        torch.save(state, path)


@contextmanager
def recorded_saves(saves: list[dict], moment: Callable[[], int]) -> Iterator[None]:
    """In this block each torch.save of this rank is recorded in `saves`: when, by `moment()`, and the content.

    Not those by which torch itself pickles a tensor, such as one that is sent as an object."""
    save = torch.save

    def recording(content: Any, *args: Any, **options: Any) -> None:
        if not isinstance(content, (torch.UntypedStorage, torch.TypedStorage)):
            saves.append({"after": moment(), "content": as_plain(content)})
        save(content, *args, **options)

    with mock.patch.object(torch, "save", recording):
        yield


def cause_in(text: str) -> str:
    """Of an error of torch.load, what it could not read, without the colours of a terminal."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    return " ".join([line for line in lines if "Unsupported" in line] or lines)
