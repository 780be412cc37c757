"""A step of training on a simulated network as spans of time: what was computed, and what was on the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course.watch.events import Event

Span = tuple[float, float]  # when something begins and ends, in seconds since the step began


@dataclass(frozen=True)
class RankSpans:
    """What a rank computed. forward: its forward pass. layers: the backward pass of each, by layer, in order."""

    forward: Span
    layers: list[tuple[int, Span]]
    total: float

    @property
    def computed(self) -> float:
        """When the last layer's backward pass is over."""
        return max((end for _, (_, end) in self.layers), default=self.forward[1])


@dataclass(frozen=True)
class StepSpans:
    """One step. ranks: what each computed. transfers: when each all-reduce was on the line."""

    ranks: list[RankSpans]
    transfers: list[Span]

    @property
    def total(self) -> float:
        """Seconds until the last rank has made its step."""
        return max(rank.total for rank in self.ranks)

    @property
    def not_hidden(self) -> float:
        """Seconds from when the last rank has computed all gradients to the end of the step."""
        return max(0.0, self.total - max(rank.computed for rank in self.ranks))


def step_spans(ranks: Sequence[dict], events: Sequence[Sequence[Event]], latency: float, bandwidth: float) -> StepSpans:
    """The last step of some.

    ranks: by rank, of the last step: `last`, its seconds; `backward`, when the pass began and ended; `layers`, (layer,
    begin, end) of each, all in seconds since the step began. events: by rank, those of the run, in which the ranks
    meet in a barrier before each step. latency, bandwidth: of the network (see
    `course.simulated.all_reduce.slow_all_reduce`), whose rule says when an all-reduce is on the line: from when the
    last rank has called it, and one after the other.
    """
    sent = [last_step(log) for log in events]
    calls = [max(moments) for moments in zip(*([begin for begin, _ in own] for own in sent), strict=False)]
    free, transfers, size = 0.0, [], len(ranks)
    for called, (_, count) in zip(calls, sent[0], strict=False):
        begin = max(called, free)
        free = begin + 2 * (size - 1) * (latency + count / size / bandwidth)
        transfers.append((begin, free))
    computed = [
        RankSpans(
            (0.0, own["backward"][0]), [(layer, (begin, end)) for layer, begin, end in own["layers"]], own["last"]
        )
        for own in ranks
    ]
    return StepSpans(computed, transfers)


def quickest_step(
    steps: Sequence[Sequence[dict]], events: Sequence[Sequence[Event]]
) -> tuple[list[dict], list[list[Event]]]:
    """Of the last steps of a run the one that took least, for `step_spans`: by rank, its times, and the events up to
    its end.

    steps: by rank, the times of each of the last steps. events: of the whole run.
    """
    count = len(steps[0])
    best = min(range(count), key=lambda step: max(rank[step]["last"] for rank in steps))
    cut = []
    for log in events:
        met = [number for number, event in enumerate(log) if event["kind"] == "barrier"][-count:]
        cut.append([*log[: [*met, len(log)][best + 1]]])
    return [rank[best] for rank in steps], cut


def last_step(log: Sequence[Event]) -> list[tuple[float, int]]:
    """The all-reduces of a rank after its last barrier: when each was called, in seconds since then, and bytes."""
    met = [number for number, event in enumerate(log) if event["kind"] == "barrier"]
    if not met:
        return []
    began = log[met[-1]]["end"] or log[met[-1]]["start"]
    after = [event for event in log[met[-1] + 1 :] if event["library"] == "torch" and event["kind"] == "allreduce"]
    return [(event["start"] - began, event["bytes"] or 0) for event in after]
