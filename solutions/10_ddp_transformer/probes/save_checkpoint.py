"""Calls of `save_checkpoint` in a watched folder, in which there are files of somebody else's, too."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, decoded
from autograde.probes.checkpoint_calls import Saved, saving_calls

OTHERS = ("other.pt", "other.pt.tmp")


class Seen(Evidence):
    """The calls in one folder."""

    calls: list[Saved]


def call(save_checkpoint: Callable, rank: CallRank, call: dict) -> Seen:
    """A save for each epoch, the second one after a crash in the middle of writing."""
    old = {"model": {}, "optimizer": {}, "epoch": 0} if call["old"] else None
    return decoded(Seen, {"calls": saving_calls(rank, save_checkpoint, call, call["places"], old, beside=OTHERS)})


PROBE = CallProbe(Seen, call, needs="torch", deadline=10)
