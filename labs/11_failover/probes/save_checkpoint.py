"""Calls of `save_checkpoint` in a watched folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, decoded
from autograde.probes import checkpoint_calls
from autograde.probes.checkpoint_calls import saving_calls
from autograde.probes.checkpoint_files import read_checkpoint

from ..shared.training import generator_after, next_number

MOST = 16  # entries that are looked at


class File(checkpoint_calls.File):
    """random: of each rank's states the number that comes next, or what it is; None where there is no list."""

    random: list[list[float | str] | None] | None = None


class Saved(checkpoint_calls.Saved):
    """drawn: the random number that comes next."""

    content: File | None
    drawn: float


class Seen(Evidence):
    """The calls in one folder."""

    calls: list[Saved]


def file_at(path: str) -> dict:
    """What is in a file, as a `File`."""
    file, random = read_checkpoint(path), None
    if isinstance(file["content"], dict):
        entry = torch.load(path, map_location="cpu", weights_only=True).get("random")
        file["content"].pop("random", None)
        random = [states_of(own) for own in entry[:MOST]] if isinstance(entry, (list, tuple)) else None
    return {**file, "random": random}


def states_of(entry: Any) -> list[float | str] | None:
    """Those of one rank."""
    return [*map(next_of, entry[:4])] if isinstance(entry, (list, tuple)) else None


def next_of(state: Any) -> float | str:
    """The number that comes next from what should be the state of a generator; if it is none, what it is."""
    if not isinstance(state, torch.Tensor):
        return type_in_words(state)
    if state.storage_offset():
        return f"a {state.type()} that is a view of a larger tensor, on which torch.set_rng_state crashes"
    generator = torch.Generator()
    try:
        generator.set_state(state.clone())
        return next_number(generator)
    except (TypeError, RuntimeError):
        return f"a {state.type()}"


def call(save_checkpoint: Callable, rank: CallRank, call: dict) -> Seen:
    """A save for each place, the second one after a crash in the middle of writing."""
    old = {"model": {}, "optimizer": {}, "epoch": 0, "consumed": 0, "random": []} if call["old"] else None
    state = generator_after(call["luck"][rank.rank]).get_state()
    calls = saving_calls(
        *(rank, save_checkpoint, call, call["places"], old),
        before=lambda: torch.set_rng_state(state),
        after=lambda: {"drawn": torch.rand(1, dtype=torch.float64).item()},
        read=file_at,
    )
    return decoded(Seen, {"calls": calls})


PROBE = CallProbe(Seen, call, needs="torch", deadline=10)
