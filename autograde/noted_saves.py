"""Checkpoints that a training run writes, noted on its ranks as they are saved, and read back from disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from course.numbered import BUFFERS, SIZES
from course.report import enumerate_words


@contextmanager
def shared_path(comm: Any, name: str) -> Iterator[str]:
    """On ranks of one machine: a path that is the same on all ranks of `comm`, in a new folder that goes afterwards."""
    folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    try:
        yield os.path.join(folder, name)
    finally:
        if comm.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def noted_saves(saves: list[dict], moment: Any) -> Iterator[None]:
    """In this block each torch.save of this rank is noted in `saves`: what, and when, by `moment()`."""
    save = torch.save

    def noting(saved: Any, *args: Any, **options: Any) -> None:
        saves.append({"after": moment(), **contents(saved)})
        save(saved, *args, **options)

    with mock.patch.object(torch, "save", noting):
        yield


def contents(saved: Any) -> dict:
    """What a checkpoint holds: ``holds``, in words, and ``state``, its model's numbers, None where there is no such."""
    if not isinstance(saved, dict):
        return {"holds": f"an object of type {type(saved).__name__}", "state": None}
    holds = enumerate_words([f"`{key}`" for key in saved]) if saved else "nothing"
    try:
        state = {str(name): values.detach().double().flatten().tolist() for name, values in saved["model"].items()}
    except Exception:  # whatever else it is, it is no state dict
        state = None
    due = {**SIZES, **BUFFERS}
    fits = state is not None and {name: len(values) for name, values in state.items()} == due
    return {"holds": holds, "state": state if fits else None}


def read_back(path: str) -> dict:
    """The checkpoint's `contents` on disk, and ``problem``: why it cannot be read, None where it can."""
    nothing = {"holds": "nothing", "state": None}
    if not os.path.exists(path):
        return {**nothing, "problem": "no file"}
    try:
        return {**contents(torch.load(path, weights_only=True)), "problem": None}
    except Exception as error:
        return {**nothing, "problem": f"{type(error).__name__}: {error}".partition("\n")[0][:200]}
