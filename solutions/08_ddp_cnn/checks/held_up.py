"""Whether ranks had to wait for a core while they measured: goes with the probe, which asks them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograde.contract.calls import calls_apart
from course.world.meeting import is_meeting

MARGIN = 0.001  # seconds by which two clocks of one rank may be apart


def held_up(case: Mapping[str, Any], ranks: Sequence[Mapping[str, Any]]) -> float:
    """The longest time, in seconds, in which a rank did nothing where its clock begins or stops, or by which the
    last call kept it after all ranks had come. On a machine that others use it may have waited for a core; what its
    clock shows is then no longer known from its steps.

    case: with ``steps`` that count, and ``warmup``, how many come before. ranks: of a run's evidence, each with its
    ``events``, and as its ``result`` the ``notes`` of its device, ``met`` and ``returned``, when the call began and was
    over, and its ``machine``.
    """
    try:
        alone = [of_rank(case, rank["result"], calls_apart(rank["events"])[-1], left_at(rank)) for rank in ranks]
        return max(*alone, left_late(ranks))
    except (TypeError, ValueError, LookupError):  # the student's code has changed the notes; the schema refuses them
        return 0.0


def of_rank(
    case: Mapping[str, Any], result: Mapping[str, Any], events: Sequence[Mapping[str, Any]], met: float
) -> float:
    """That of one rank. met: when its call began, by the clock of its events."""
    steps = [note[1:] for note in result["notes"] if note[0] == "step"]
    warmup = 0 if len(steps) == case["steps"] else case["warmup"]  # none, where just as many are made as count
    if len(steps) <= warmup or any(event["end"] is None for event in events):
        return 0.0
    waits = [note[1:] for note in result["notes"] if note[0] == "wait"]
    calls = [(event["start"] - met, event["end"] - met) for event in events]
    noted, first = [*steps, *waits, *calls], steps[warmup][0]
    last = next((end for begin, end in waits if begin >= steps[-1][1]), steps[-1][1])
    before = max((end for _, end in noted if end <= first + MARGIN), default=first)
    after = min((begin for begin, _ in noted if begin >= last - MARGIN), default=result["returned"])
    return max(first - before, after - last, result["returned"] - max(end for _, end in noted))


def left_late(ranks: Sequence[Mapping[str, Any]]) -> float:
    """Seconds from the moment when the last rank came to its last call until all have left theirs; 0 where ranks have
    clocks of their own."""
    last = [(rank, calls_apart(rank["events"])[-1][-1:]) for rank in ranks]
    if len({rank["result"]["machine"] for rank in ranks}) > 1 or not all(
        event and event[0]["end"] for _, event in last
    ):
        return 0.0
    begins, ends = (
        [rank["result"]["met"] + event[side] - left_at(rank) for rank, [event] in last] for side in ("start", "end")
    )
    return max(ends) - max(begins)


def left_at(rank: Mapping[str, Any]) -> float:
    """When a rank left the meeting before the call, by the clock of its events."""
    met = [event["end"] for event in rank["events"] if is_meeting(event)]
    return met[-1] if met and met[-1] is not None else 0.0
