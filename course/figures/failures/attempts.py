"""The record of a training that was killed and resumed: what happened when, as the ranks noted it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Step = tuple[float, int, float]  # when it ended, its number in the whole run, from 1, and its loss
PARTS = ("noticing", "starting", "loading", "redoing")


@dataclass(frozen=True)
class Attempt:
    """What one set of processes did, from their start to the end of the training or to a kill.

    All times are seconds of one clock. began: the ranks were asked for. ready: they are there. loaded: they have read
    the checkpoint. steps: by rank, in the order of time. saves: a checkpoint after the step of this number is there
    since that moment. killed: when, and which rank. noticed: when that came to be known; None: at once.
    """

    began: float
    ready: float
    loaded: float
    steps: Sequence[Sequence[Step]]
    saves: Sequence[tuple[float, int]]
    killed: tuple[float, int] | None = None
    noticed: float | None = None

    @property
    def known(self) -> float:
        """When the kill came to be known; without one, when the attempt began."""
        at = self.began if self.killed is None else self.killed[0]
        return at if self.noticed is None else max(at, self.noticed)

    @property
    def end(self) -> float:
        """When the attempt's last step or save was done, or the kill."""
        if self.killed is not None:
            return self.killed[0]
        whens = [step[0] for rank in self.steps for step in rank] + [when for when, _ in self.saves]
        return max(whens, default=self.loaded)

    @property
    def first(self) -> int | None:
        """The number of its first step, if it made one."""
        return min((rank[0][1] for rank in self.steps if rank), default=None)

    @property
    def last(self) -> int:
        """The number of the last step that any rank finished; 0 without one."""
        return max((rank[-1][1] for rank in self.steps if rank), default=0)


@dataclass(frozen=True)
class Failure:
    """A kill, and what followed. before, after: the attempts on both sides of it. back: the step gone back to."""

    before: Attempt
    after: Attempt
    back: int

    @property
    def lost(self) -> range:
        """The numbers of the steps that were finished and had to be made again."""
        return range(self.back + 1, max(self.back, self.before.last) + 1)

    @property
    def saved_at(self) -> float:
        """When the checkpoint gone back to was there; without one, when the attempt could have begun its steps."""
        whens = [when for when, number in self.before.saves if number == self.back]
        return whens[-1] if whens else self.before.loaded

    def parts(self) -> dict[str, float]:
        """Seconds from the kill to the moment when the last lost step was made again, by PARTS."""
        kill, known, after = self.before.end, self.before.known, self.after
        again = [when for rank in after.steps for when, number, _ in rank if number in self.lost]
        marks = [kill, known, after.ready, after.loaded, max(again, default=after.loaded)]
        return {part: max(0.0, end - start) for part, (start, end) in zip(PARTS, pairwise(marks), strict=True)}


def failures_of(attempts: Sequence[Attempt]) -> list[Failure]:
    """The kills of a run that were followed by another attempt."""
    found, saved = [], 0
    for before, after in pairwise(attempts):
        saved = max((number for _, number in before.saves), default=saved)
        back = saved if after.first is None else after.first - 1
        if before.killed is not None:
            found.append(Failure(before, after, back))
    return found


def steps_in_words(count: int) -> str:
    """For example "1 step", "3 steps"."""
    return f"{count} step{'s' * (count != 1)}"
