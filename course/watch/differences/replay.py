"""A run once more, from its record, where nothing is kept for later: a send goes on when it is received, and a
collective call when all have made it. MPI promises no more. Where a replay stands still, the run hung, or MPI let it
pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course.watch.differences.groups import Group, group_of, is_collective
from course.watch.differences.messages_met import Half, Post, receive_of, send_of
from course.watch.events import Event

POST, BLOCK = 0, 1
OUTSIDE = -1  # a rank that does not take part in the run
Step = tuple[float, int, int]  # when, POST or BLOCK, number of the event


class Replay:
    """The ranks of a run, each at one of its steps.

    logs: events by rank. ended: by rank, whether there is nothing more to come. parted: see `collectives.compared`;
    nobody waits for what comes from there on.
    """

    def __init__(self, logs: Sequence[Sequence[Event]], ended: Sequence[bool], parted: Mapping[Group, int]) -> None:
        self.logs, self.ended, self.parted, self.size = logs, ended, parted, len(logs)
        self.steps = [steps_of(rank, log) for rank, log in enumerate(logs)]
        self.at = [0] * self.size
        self.post = Post()
        self.halves: dict[tuple[int, int], list[Half]] = {}
        self.counts: Counter[tuple[Group, int]] = Counter()
        self.places: dict[tuple[int, int], int] = {}  # of collective calls in their communicator, by rank and number
        self.let_pass: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Go on until every rank is at its end, or stands."""
        moved = True
        while moved:
            moved = False
            for rank in range(self.size):
                while self.step(rank):
                    moved = True

    def step(self, rank: int) -> bool:
        """Go a step on with a rank, if it can."""
        if self.at[rank] == len(self.steps[rank]):
            return False
        _, what, number = self.steps[rank][self.at[rank]]
        if what == BLOCK and self.awaits(rank, number):
            return False
        if what == POST:
            self.begin(rank, number)
        self.at[rank] += 1
        return True

    def begin(self, rank: int, number: int) -> None:
        """Post what a call sends and receives, or take part in a collective."""
        event = self.logs[rank][number]
        if is_collective(rank, event):
            group = group_of(event)
            self.places[rank, number] = self.counts[group, rank]
            self.counts[group, rank] += 1
            return
        halves = [half for half in (send_of(rank, event, self.size), receive_of(rank, event)) if half is not None]
        self.halves[rank, number] = halves
        for half in halves:
            self.post.post(half)

    def awaits(self, rank: int, number: int) -> list[int | None]:
        """The ranks without which a call does not come to its end; None for any of its communicator's."""
        if (rank, number) in self.let_pass:
            return []
        event = self.logs[rank][number]
        if (rank, number) in self.places:
            group, place = group_of(event), self.places[rank, number]
            if place >= self.parted.get(group, place + 1):
                return []
            return [OUTSIDE if each is None else each for each in group.members if self.counts[group, each] <= place]
        if event["kind"] == "probe":
            probe = probing(rank, event)
            return [] if self.post.sent_to(rank, probe.fits) else [probe.source]
        pending = [half for half in self.halves.get((rank, number), []) if half.other is None]
        return [half.destination if half.sends else half.source for half in pending]

    def waiting_halves(self, rank: int) -> list[Half]:
        """What a rank that stands in a call sends and receives in it, and has no partner."""
        number = self.steps[rank][self.at[rank]][2]
        return [half for half in self.halves.get((rank, number), []) if half.other is None]

    def standing(self) -> dict[int, tuple[Event, list[int | None]]]:
        """The ranks that stand: in which call, and for whom."""
        found = {}
        for rank in range(self.size):
            if self.at[rank] < len(self.steps[rank]):
                number = self.steps[rank][self.at[rank]][2]
                found[rank] = self.logs[rank][number], self.awaits(rank, number)
        return found

    def stuck(self) -> dict[int, tuple[Event, list[int | None]]]:
        """Those of them whom nobody can release who may still do something."""
        standing = self.standing()
        acting = {rank for rank in range(self.size) if rank not in standing and not self.ended[rank]}
        grown = True
        while grown:
            grown = False
            for rank, (event, others) in standing.items():
                if rank not in acting and others and all(self.may_come(event, rank, each, acting) for each in others):
                    acting.add(rank)
                    grown = True
        return {rank: found for rank, found in standing.items() if rank not in acting}

    def may_come(self, event: Event, rank: int, other: int | None, acting: set[int]) -> bool:
        """Whether a rank that another one waits for may still come. other: None for any."""
        members = event["members"] or range(self.size)
        return other in acting if other is not None else any(each in acting for each in members if each != rank)

    def release(self, ranks: Sequence[int]) -> bool:
        """Let these ranks pass that passed in the run, and return whether there are such."""
        passed = False
        for rank in ranks:
            number = self.steps[rank][self.at[rank]][2]
            if self.logs[rank][number]["end"] is not None:
                self.let_pass.add((rank, number))
                passed = True
        return passed


def probing(rank: int, event: Event) -> Half:
    """What a probe looks for. The message that it found is the next one that fits."""
    found = receive_of(rank, {**event, "kind": "recv"})
    return found or Half(rank, event, False, group_of(event), None, rank, None)


def steps_of(rank: int, log: Sequence[Event]) -> list[Step]:
    """The steps of a rank: calls begin, and it waits for their ends.

    An operation that goes on after its call was waited for at its end. Where other calls began meanwhile, something
    else may have been waited for, or another thread made them: then it is not known that the rank had to wait.
    """
    steps: list[Step] = []
    kept = [(number, event) for number, event in enumerate(log) if is_step(rank, event)]
    overlaps = overlapping([event for _, event in kept])
    for (number, event), overlapped in zip(kept, overlaps, strict=True):
        if event["kind"] != "probe":
            steps.append((event["start"], POST, number))
        waits = event["waited"] is not None and not overlapped and "neighbor" not in event["op"].lower()
        if waits and not event["op"].lower().startswith(("bsend", "ibsend")):
            blocks = event["waited"] == event["start"]
            until = event["waited"] if blocks or event["end"] is None else event["end"]
            steps.append((until, BLOCK, number))
    return sorted(steps, key=lambda step: (step[0], step[2], step[1]))


def is_step(rank: int, event: Event) -> bool:
    """Whether a call is one of those that are replayed."""
    if event["kind"] == "probe" and event["op"].lower().startswith("i"):
        return False
    return event["kind"] in ("send", "recv", "sendrecv", "probe") or is_collective(rank, event)


def overlapping(log: Sequence[Event]) -> list[bool]:
    """Whether another call began while the rank waited for each."""
    starts = sorted(event["start"] for event in log)
    later = dict(pairwise(starts))
    found = []
    for event in log:
        if event["waited"] is None:
            found.append(False)
            continue
        following = later.get(event["start"]) if event["waited"] == event["start"] else after(starts, event["waited"])
        found.append(following is not None and following < (float("inf") if event["end"] is None else event["end"]))
    return found


def after(starts: Sequence[float], moment: float) -> float | None:
    """The first start after a moment."""
    number = bisect_right(starts, moment)
    return starts[number] if number < len(starts) else None
