"""Which of the calls of a rank are those of its optimizer, and which belong to which epoch."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.rubric import EMPTY

from ..probes.averaging import GRADIENTS, is_average


def averages(log: Sequence[dict], steps: int) -> list[dict]:
    """The calls of a rank, see `course.watch.events`, by which its optimizer averages gradients; none, where it is not
    clear which these are. steps: that it made."""
    found = [event for event in log if is_average(event)]
    horovod = [event for event in found if event["library"] == "horovod"]
    found = horovod or found
    return found if len(found) == steps * (len(GRADIENTS) if horovod else 1) else []


def without_averages(log: Sequence[dict], steps: int) -> list[dict]:
    """The calls of a rank but for those of `averages`."""
    known = averages(log, steps)
    return [event for event in log if event not in known]


def cut_by_epoch(logs: Sequence[Sequence[dict]], steps: int, epochs: int) -> list[list[list[dict]]] | None:
    """The calls of the ranks but for those of `averages`, [epoch][rank]: what came after an epoch's first average, up
    to the first one of the next.

    None, unless each epoch has the same calls, and none before them brings numbers together: then a call may be about
    another epoch. logs: by rank. steps: of an epoch.
    """
    cut = []
    for log in logs:
        known, made = averages(log, steps * epochs), 0
        if not known:
            return None
        of_rank: list[list[dict]] = [[] for _ in range(epochs + 1)]  # and before the first
        for event in log:
            if event in known:
                made += 1
            elif event["kind"] not in EMPTY:
                of_rank[-(-made * epochs // len(known))].append(event)
        kinds = [[(event["op"], event["kind"], event["reduction"], event["bytes"]) for event in own] for own in of_rank]
        if any(kind != "broadcast" for _, kind, *_ in kinds[0]) or any(own != kinds[1] for own in kinds[1:]):
            return None
        cut.append(of_rank[1:])
    return [[of_rank[epoch] for of_rank in cut] for epoch in range(epochs)]
