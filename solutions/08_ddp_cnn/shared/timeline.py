"""What a rank did while it measured, read from the record of its calls and the notes among them, on one clock."""

from __future__ import annotations

from collections.abc import Sequence

from course.watch.notes import note_of

STEP, WAIT, RETURNED, OVER = "step", "wait", "returned", " over"  # notes
HELD_UP = 0.004  # seconds of doing nothing beside its clock after which a rank may have waited for a core
Span = tuple[float, float]


class Timeline:
    """Steps and waits of a rank, and the calls that it communicated by, each with its beginning and end.

    log: its events, with notes. call: with `steps` that count and `warmup`, how many come before.
    """

    def __init__(self, log: Sequence[dict], call: dict) -> None:
        spans: dict[str, list[Span]] = {STEP: [], WAIT: [], RETURNED: []}
        began = 0.0
        for event in log:
            name = note_of(event)
            if name in spans:
                began = event["start"]
            elif name:
                spans.get(name.removesuffix(OVER), []).append((began, event["start"]))
        self.steps, self.waits, self.calls = spans[STEP], spans[WAIT], [each for each in log if note_of(each) is None]
        self.returned = next((event["start"] for event in log if note_of(event) == RETURNED), began)
        # None of the steps comes before those that count, where there are just as many as count.
        self.warmup = 0 if len(self.steps) == call["steps"] else call["warmup"]

    def waits_between(self, first: int, last: int | None = None) -> list[Span]:
        """The waits after step number `first`, and before step number `last`, if there is one."""
        until = float("inf") if last is None else self.steps[last][0]
        return [wait for wait in self.waits if self.steps[first][1] <= wait[0] <= until]

    @property
    def begin(self) -> float:
        """When the steps that count begin."""
        return self.steps[self.warmup][0]

    @property
    def end(self) -> float:
        """When they are done, as far as the rank waited for that."""
        return next((end for _, end in self.waits_between(-1)), self.steps[-1][1])

    @property
    def held_up(self) -> float:
        """The longest time, in seconds, in which it did nothing where its clock begins or stops. On a machine that
        others use it may have waited for a core; what its clock shows is then no longer known from its steps."""
        calls = [(each["start"], each["end"]) for each in self.calls]
        if len(self.steps) <= self.warmup or any(end is None for _, end in calls):
            return 0.0
        spans = [*self.steps, *self.waits, *calls]
        before = max((end for _, end in spans if end <= self.begin), default=self.begin)
        after = min((begin for begin, _ in spans if begin >= self.end), default=self.returned)
        return max(self.begin - before, after - self.end, self.returned - max(end for _, end in spans))


def held_up(ranks: Sequence[Timeline], machines: Sequence[int]) -> float:
    """The longest time in which one of the ranks was held up, or by which the last call kept it after all had come;
    which nobody knows where ranks have clocks of their own. machines: a number for each rank's."""
    last = [own.calls[-1] for own in ranks if own.calls]
    late = 0.0
    if len(last) == len(ranks) and len({*machines}) == 1 and all(each["end"] for each in last):
        late = max(each["end"] for each in last) - max(each["start"] for each in last)
    return max(late, *(own.held_up for own in ranks))
