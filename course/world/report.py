"""The outcome of a run: its state, which follows from those of its ranks, and its report in words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

from course.watch.differences import Difference, differences, in_words
from course.watch.events import Event
from course.watch.wording import label_ranks, name_ranks
from course.world.meeting import MEETING
from course.world.rank_report import ErrorReport, RankRecord, RankReport, first_line

STUB = "raise NotImplementedError()"  # the line that a TODO is released with, as nbgrader writes it

HEAD, PRINTED = 1_000, 9_000  # characters of a rank's output that `Outcome.plain` keeps: the first, the last


class OutcomeRecord(TypedDict):
    """An `Outcome` as plain JSON data."""

    state: str
    detail: str
    report: str
    seconds: float
    ranks: list[RankRecord]


@dataclass
class Outcome:
    """How one run ended.

    state: "ok", "raised", "hang" (ranks wait for each other), "too-slow" (a rank still computes), "rank-died",
    "interrupted", or one of REFINED's values, which tell kinds of "raised" apart, mostly for checks.
    """

    state: str
    ranks: list[RankReport]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every rank returned."""
        return self.state == "ok"

    @property
    def results(self) -> list[Any]:
        """The results in rank order; None for a rank without one."""
        return [rank.result for rank in self.ranks]

    @property
    def events(self) -> list[list[Event]]:
        """Each rank's communication calls."""
        return [rank.events for rank in self.ranks]

    @property
    def detail(self) -> str:
        """One sentence: which ranks wait where, which raised what, which died how."""
        first = self.ranks[0]
        if self.state in REFINED.values() and first.error and first.error["message"]:
            return first_line(first.error["message"])
        # Causes come before consequences.
        first = sorted(self._alike(source=False), key=lambda group: group[0].rank)
        ordered = sorted(first, key=lambda group: (ORDER.index(group[0].state), group[0].with_host))
        parts = [
            f"{name_ranks([rank.rank for rank in group])} {group[0].sentence(False, len(group) > 1, self._late)}"
            for group in ordered
        ]
        return "; ".join(parts) + "."

    @property
    def report(self) -> str:
        """A line for each rank; ranks that did the very same share one."""
        return "\n".join(
            f"{label_ranks([rank.rank for rank in group])}  {group[0].sentence(True, len(group) > 1, self._late)}"
            for group in self._alike()
        )

    @cached_property
    def differences(self) -> list[Difference]:
        """What differs between the ranks, though it should not, also where all returned."""
        return differences([rank.before_meeting() for rank in self.ranks])

    @property
    def explained(self) -> str:
        """The report, and what differs."""
        return "\n\n".join(filter(None, [self.report, in_words(self.differences)]))

    @property
    def _late(self) -> str:
        """The ranks that have not come to where those that returned wait for them."""
        late = [rank.rank for rank in self.ranks if not (rank.state == "waiting" and rank.call == MEETING)]
        return name_ranks(late) if late else "the others"

    def _alike(self, source: bool = True) -> list[list[RankReport]]:
        """The ranks in groups that say the same of themselves, in the order of the first of each."""
        groups: dict[str, list[RankReport]] = {}
        for rank in self.ranks:
            groups.setdefault(rank.sentence(source), []).append(rank)
        return [*groups.values()]

    def plain(self) -> OutcomeRecord:
        """As plain JSON data, with the ends of each rank's output. A result that JSON cannot hold is a "bad-result"."""
        ranks = [
            replace(rank, result=None, stdout=rank.stdout[:HEAD] + rank.stdout[HEAD:][-PRINTED:]) for rank in self.ranks
        ]
        ranks = [asdict(rank) for rank in ranks]  # without results: copying them could run the student's code
        state, detail, report = self.state, self.detail, self.report if self.ok else self.explained
        for entry, rank in zip(ranks, self.ranks, strict=True):
            del entry["cells"]
            try:
                entry["result"] = json.loads(json.dumps(rank.result))
            except Exception:  # whatever is wrong with it, it is not plain data
                state, detail = (
                    "bad-result",
                    f"rank {rank.rank} returned what is not plain data: {type(rank.result).__name__}",
                )
        return {"state": state, "detail": detail, "report": report, "seconds": self.seconds, "ranks": ranks}


ORDER = ["died", "raised", "waiting", "running", "returned"]
REFINED = {
    "NotImplementedError": "not-done",
    "NoSuchName": "no-such-name",
    "CellFails": "cell-fails",
    "TooMuchOutput": "too-much-output",
    "UnreadableResult": "bad-result",
}


def judge_state(ranks: list[RankReport], stalled: bool = False) -> str:
    """The state of a run, from those of its ranks: causes go before consequences. stalled: whether some of them wait
    for what those that still run cannot bring."""
    states = {rank.state for rank in ranks}
    if "died" in states:
        return "rank-died"
    if "raised" in states:
        kinds = {kind_of(rank.error) for rank in ranks if rank.error}
        return kinds.pop() if len(kinds) == 1 else "raised"
    if "running" in states and not stalled:
        return "too-slow"
    return "hang" if "waiting" in states else "ok"


def kind_of(error: ErrorReport) -> str:
    """The state of a run that ended in this error. Not done is only what a TODO was released with: torch, Horovod and
    base classes, also those of the student's own, raise NotImplementedError, too."""
    if error["type"] == "NotImplementedError" and error["source"] != STUB:
        return "raised"
    return REFINED.get(error["type"], "raised")
