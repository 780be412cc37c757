"""Passes over samplers of one size."""

from __future__ import annotations

from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.probes.sampler_passes import PATIENCE, Passes, known_shards, shown_passes


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """A `shard` that looks shares up."""
    rank.notes["shares"] = case["shares"]
    return {"shard": known_shards(case["shares"])}


def call(ShuffledSampler: Any, rank: CallRank, call: dict) -> Passes:
    """All passes of a plan."""
    return shown_passes(ShuffledSampler, rank, "set_epoch", call, rank.notes["shares"])


PROBE = CallProbe(Passes, call, names, deadline=PATIENCE + 5)
