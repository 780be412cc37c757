"""A step of data parallel training on a clock of its own: the same plan gives the same spans on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course.profiles.spans import Kind, Span


@dataclass(frozen=True)
class StepPlan:
    """What a step consists of. All times are in seconds.

    layers: how long the forward and the backward pass of each take. buckets: what is all-reduced one after the other,
    as (layer, time): it is ready when the backward pass of this layer is over. work: by rank, how many times as long
    its passes take. loading: by rank, how long it waits for its batch. waits: by rank, by layer, how long the device
    idles after its forward pass, until the process, which has waited for a number, asks for more. again: layers that
    are computed once more before their backward pass. optimizer: how long its step takes.
    """

    layers: Sequence[tuple[float, float]]
    buckets: Sequence[tuple[int, float]]
    work: Sequence[float]
    loading: Sequence[float]
    waits: Sequence[Sequence[float]]
    again: Sequence[int] = ()
    optimizer: float = 0.001


class Rank:
    """A rank that makes one step, and notes what it does."""

    def __init__(self) -> None:
        self.now, self.spans = 0.0, []

    def spend(self, kind: Kind, name: str, seconds: float) -> None:
        """Do something that takes so long; nothing if it takes no time."""
        if seconds > 0:
            self.spans.append(Span(kind, self.now, self.now + seconds, name))
            self.now += seconds

    def around(self, kind: Kind, name: str, start: float) -> None:
        """Note what lasts from `start` until now."""
        self.spans.append(Span(kind, start, self.now, name))


def clocked_step(plan: StepPlan) -> list[list[Span]]:
    """The spans of each rank in one step, sorted by their start, from 0 seconds on.

    Each rank waits for its batch, and computes forward, then backward. An all-reduce begins on a rank when its bucket
    is ready there. It is on the network when it is ready on all ranks and the one before it is complete, and is
    complete on all ranks at once. The optimizer waits for all of them.
    """
    ranks = [Rank() for _ in plan.work]
    ready = [passes(rank, plan, number) for number, rank in enumerate(ranks)]
    free = 0.0
    for layer, seconds in plan.buckets:
        free = max(free, *(moments[layer] for moments in ready)) + seconds
        for rank, moments in zip(ranks, ready, strict=True):
            rank.spans.append(Span("communication", moments[layer], free, "all_reduce"))
    for rank in ranks:
        rank.now = max(rank.now, free)
        start = rank.now
        rank.spend("compute", "optimizer", plan.optimizer)
        rank.around("part", "optimizer", start)
        rank.around("step", "step", 0.0)
    return [sorted(rank.spans, key=lambda span: (span.start, -span.end)) for rank in ranks]


def passes(rank: Rank, plan: StepPlan, number: int) -> list[float]:
    """The batch, the forward and the backward pass of a rank. Returns when each layer's backward pass is over."""
    work, over = plan.work[number], [0.0] * len(plan.layers)
    rank.spend("loading", "loading", plan.loading[number])
    start = rank.now
    for layer, (forward, _) in enumerate(plan.layers):
        rank.spend("compute", f"forward {layer}", work * forward)
        rank.spend("wait", ".item()", plan.waits[number][layer])
    rank.around("part", "forward", start)
    start = rank.now
    for layer, (forward, backward) in reversed([*enumerate(plan.layers)]):
        if layer in plan.again:
            rank.spend("compute", f"forward {layer}", work * forward)
        rank.spend("compute", f"backward {layer}", work * backward)
        over[layer] = rank.now
    rank.around("part", "backward", start)
    return over
