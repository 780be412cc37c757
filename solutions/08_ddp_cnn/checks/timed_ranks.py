"""What ranks measured, worked out from the times at which their steps and waits were."""

from __future__ import annotations

from collections.abc import Sequence

from .clocks import APART

TOLERANCE = 0.08  # relative: what a busy machine may put between a step and the clock around it
TOGETHER = 0.05  # seconds; without a meeting after the warm-up, ranks begin further apart
MANY = 5  # times as much as expected: as if only computing had been timed
MARGIN = 0.001  # seconds by which two clocks of one rank may be apart


class TimedRanks:
    """The steps and waits of all ranks in one case. steps: by rank, beginning and end of each. results: by rank, with
    ``notes``, ``met`` and ``machine``."""

    def __init__(self, case: dict, results: Sequence[dict]) -> None:
        self.case, self.results, self.size = case, results, len(results)
        self.steps = [[note[1:] for note in each["notes"] if note[0] == "step"] for each in results]
        self.waits = [[note[1:] for note in each["notes"] if note[0] == "wait"] for each in results]
        # Steps before those that count: none, where there are just as many as count.
        self.warmup = 0 if {*map(len, self.steps)} == {case["steps"]} else case["warmup"]

    @property
    def begins(self) -> list[float]:
        """When each rank begins the steps that count."""
        return [own[self.warmup][0] for own in self.steps]

    @property
    def waited_after(self) -> list[list]:
        """Of each rank its waits after the last step."""
        return [
            [wait for wait in waits if wait[0] >= own[-1][1]] for waits, own in zip(self.waits, self.steps, strict=True)
        ]

    @property
    def waited_between(self) -> list[list]:
        """Of each rank its waits between the warm-up and the steps that count."""
        last = self.warmup - 1
        return [
            [wait for wait in waits if own[last][1] <= wait[0] <= own[last + 1][0]]
            for waits, own in zip(self.waits, self.steps, strict=True)
        ]

    @property
    def waited_within(self) -> list[list]:
        """Of each rank its waits between two steps that count."""
        return [
            [wait for wait in waits if own[self.warmup][1] <= wait[0] <= own[-1][0]]
            for waits, own in zip(self.waits, self.steps, strict=True)
        ]

    def seconds(self, warm_up: bool = False) -> list[float]:
        """How long the steps that count take on each rank, or with the warm-up before them."""
        ends = [waits[0][1] if waits else own[-1][1] for waits, own in zip(self.waited_after, self.steps, strict=True)]
        begins = [own[0][0] for own in self.steps] if warm_up else self.begins
        return [end - begin for end, begin in zip(ends, begins, strict=True)]

    def rate(self) -> float:
        """Images of all ranks, over the time of the slowest."""
        return self.size * self.case["images"] * self.case["steps"] / max(self.seconds())

    def apart(self, held_up: float) -> tuple[int, float] | None:
        """The rank that begins first, and how many seconds before the last one, if ranks do not begin together; None
        where they do, or have clocks of their own. held_up: seconds by which a rank may have waited for a core."""
        if len({each["machine"] for each in self.results}) > 1:
            return None
        begins = [each["met"] + begin for each, begin in zip(self.results, self.begins, strict=True)]
        spread = max(begins) - min(begins)
        return (begins.index(min(begins)), spread) if spread > TOGETHER + held_up else None

    def between(self, logs: Sequence[Sequence[dict]], meetings: Sequence[float], held_up: float) -> str:
        """The name of a call that ranks make between the steps that count; empty if there is none.

        logs: events of the call, by rank. meetings: when the ranks met before it, by the clock of the events, which is
        apart from that of the steps by as much as a rank may have been held up in between.
        """
        for log, met, own in zip(logs, meetings, self.steps, strict=True):
            first, last = own[self.warmup][0], own[-1][0]
            for event in log:
                if first + MARGIN + held_up < event["start"] - met < last - MARGIN:
                    return event["op"]
        return ""

    def before_the_others(self) -> float:
        """The rate where each rank's clock begins when it is ready itself, after its warm-up."""
        ready = [
            max([wait[1] for wait in own], default=begin) for own, begin in zip(self.ready, self.begins, strict=True)
        ]
        spans = zip(self.begins, ready, self.seconds(), strict=True)
        return (
            self.size * self.case["images"] * self.case["steps"] / max(begin - at + took for begin, at, took in spans)
        )

    @property
    def ready(self) -> list[list]:
        """Of each rank its waits after the warm-up; none without one."""
        return self.waited_between if self.warmup else [[] for _ in self.steps]

    def mistakes(self, actual: Sequence[float] = ()) -> dict[str, float | list[float]]:
        """What known mistakes return. actual: what the ranks returned."""
        images, steps, size, own = self.case["images"], self.case["steps"], self.size, self.seconds()
        slowest, count = max(own), self.warmup + self.case["steps"]
        warm = max(self.seconds(warm_up=True))
        found: dict[str, float | list[float]] = {
            "warm-up-timed": size * images * steps / warm,
            "warm-up-timed/all": size * images * count / warm,
            "one-steps-images": size * images / slowest,
            "seconds-returned": slowest,
            "seconds-returned/a step": slowest / steps,
            "seconds-returned/an image": slowest / (steps * images * size),
        }
        if size > 1:
            hours = APART * (size - 1)
            found |= {
                "clock-before-the-others": self.before_the_others(),
                "clocks-compared": size * images * steps / hours,
                "clocks-compared/down": -size * images * steps / hours,
                "own-clock-times-ranks": [size * images * steps / each for each in own],
                "own-clock-times-ranks/own images": [images * steps / each for each in own],
                "sum-of-rates": sum(images * steps / each for each in own),
                "mean-of-times": size * images * steps * size / sum(own),
                "fastest-rank": size * images * steps / min(own),
                "one-ranks-images": images * steps / slowest,
            }
        if actual and min(actual) > MANY * self.rate():
            found["waiting-not-counted"] = [*actual]
        return found
