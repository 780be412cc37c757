"""Passes over samplers of one size."""

from __future__ import annotations

from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, decoded
from autograde.probes.fresh_process import FreshProcess
from autograde.probes.sampler_passes import Pass, known_shards, passes_of, passes_of_all

PATIENCE = 20.0  # seconds that the other process may take; it takes two, on a machine that has nothing else to do


class Seen(Evidence):
    """The passes of this rank. drawn: what the global generators of torch, Python and numpy give after them. derived:
    whether the class is a Sampler. other, error: on rank 0, ids by rank and pass in another process, or what went wrong
    there."""

    passes: list[Pass]
    drawn: list[float]
    derived: bool
    other: list[list[list[int | None]]] | None = None
    error: str = ""


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """A `shard` that looks shares up."""
    rank.notes["shares"] = case["shares"]
    return {"shard": known_shards(case["shares"])}


def call(ShuffledSampler: Any, rank: CallRank, call: dict) -> Seen:
    """All passes of a plan; with `salt`, rank 0 makes those of all ranks in another process, too."""
    plan, luck = {**call, "size": rank.size}, call["luck"] + rank.rank
    if rank.rank > 0 or not call["salt"]:
        return decoded(Seen, passes_of(ShuffledSampler, "set_epoch", plan, rank.rank, luck))
    arguments = rank.subject, rank.notes["shares"], "set_epoch", plan, luck
    with FreshProcess(passes_of_all, *arguments, salt=call["salt"]) as process:
        own = passes_of(ShuffledSampler, "set_epoch", plan, rank.rank, luck)
        answer = process.answer(PATIENCE)
    return decoded(Seen, {**own, "other": answer["result"], "error": answer["error"] or ""})


PROBE = CallProbe(Seen, call, names, deadline=PATIENCE + 5)
