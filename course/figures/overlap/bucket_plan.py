"""When gradients are computed and when their buckets travel, if nothing disturbs it."""

from __future__ import annotations

from dataclasses import dataclass

from course.figures.overlap.step_spans import Span

LAYERS = 8


@dataclass(frozen=True)
class Plan:
    """A backward pass, in ms since it began. start_up: of each all-reduce.

    computed: by layer, from when to when its gradient is computed. sent: by bucket, from when to when the line
    carries it: from when it is full, one after the other. Layers fill the buckets from the last to the first.
    """

    buckets: int
    start_up: float
    computed: list[Span]
    sent: list[Span]

    @property
    def total(self) -> float:
        """When the last bucket has arrived."""
        return self.sent[-1][1]

    def held(self, bucket: int) -> list[int]:
        """The layers whose gradients are in a bucket, from the left."""
        size = LAYERS // self.buckets
        return [*range(LAYERS - (bucket + 1) * size, LAYERS - bucket * size)]


def plan(buckets: int, start_up: float = 0.0, backward: float = 80.0, sending: float = 80.0) -> Plan:
    """sending: ms in which the line carries all gradients, without start-ups. Raises ValueError if the layers do not
    divide by the buckets."""
    if buckets < 1 or LAYERS % buckets:
        raise ValueError(f"{LAYERS} layers in {buckets} buckets: choose 1, 2, 4 or 8")
    each = backward / LAYERS
    computed = [((LAYERS - 1 - layer) * each, (LAYERS - layer) * each) for layer in range(LAYERS)]
    free, sent = 0.0, []
    for bucket in range(1, buckets + 1):
        begin = max(free, bucket * backward / buckets)
        free = begin + start_up + sending / buckets
        sent.append((begin, free))
    return Plan(buckets, start_up, computed, sent)
