"""Calls of `load_checkpoint`, each with a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import decoded, judged_in_calls
from autograde.probes.checkpoint_calls import Loaded, loading_call

from ..shared.training import generator_after


@judged_in_calls(
    model="of a file that does not fit, the error is judged", optimizer="as the model", drawn="as the model"
)
class Seen(Loaded):
    """drawn: the random number that comes next."""

    drawn: float


def states_of(saved: Sequence, gpus: bool) -> list[list[torch.Tensor]]:
    """The entry "random" of a file. saved: luck of its ranks. gpus: whether these had one each, whose state is its seed
    and an offset, 8 bytes each."""
    states = [[generator_after(luck).get_state()] for luck in saved]
    return [[*own, torch.tensor([rank, 0]).view(torch.uint8)] for rank, own in enumerate(states)] if gpus else states


def call(load_checkpoint: Callable, rank: CallRank, call: dict) -> Seen:
    """A call for one file, into a model of its own."""
    own = generator_after(call["own"][rank.rank]).get_state()
    entries = dict(zip(("epoch", "consumed"), call["place"], strict=True))
    seen = loading_call(
        *(rank, load_checkpoint, call, {**entries, "random": states_of(call["saved"], call["gpus"])}),
        before=lambda: torch.set_rng_state(own),
        after=lambda: {"drawn": torch.rand(1, dtype=torch.float64).item()},
    )
    return decoded(Seen, seen)


PROBE = CallProbe(Seen, call, needs="torch", deadline=10)
