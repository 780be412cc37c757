"""The colour of a communication call: a hue for its kind, a shade of it for its communicator."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.colors import to_hex, to_rgb

from course.figures.style import COLOURS
from course.watch.events import Event
from course.watch.wording import shorten_ranks

# Kinds of call that share a colour, the same in every figure of the course. The last one, grey, is of calls that move
# no data.
FAMILIES = (
    ("allreduce",),
    ("broadcast",),
    ("gather", "allgather", "scatter", "alltoall"),
    ("reduce", "reduce_scatter", "scan"),
    ("send", "recv", "sendrecv", "probe"),
    ("put", "get", "accumulate", "window"),
    ("barrier", "communicator", "other"),
)

# For the first, second and third group: what is mixed into the colour, and how much of it; then from the first again.
SHADES = (("#FFFFFF", 0.55), ("#000000", 0.45), ("#FFFFFF", 0.3))
PARTS = 8  # of the name of a group, at most


def colour(kind: str) -> str:
    """The colour of a kind of call."""
    return next(colour for colour, family in zip(COLOURS, FAMILIES, strict=True) if kind in family)


class Groups:
    """The groups of ranks, smaller than the run, on which calls were made, in the order in which they first occur.

    events: by rank. Calls of which the members are not known count as calls on all ranks.
    """

    def __init__(self, events: Sequence[Sequence[Event]]) -> None:
        self.size = len(events)
        self.first: dict[tuple[int, ...], Event] = {}  # call that is made on a group first
        for event in sorted((event for rank in events for event in rank), key=lambda event: event["start"]):
            if group := self.of(event):
                self.first.setdefault(group, event)
        self.numbers = {group: number for number, group in enumerate(self.first)}

    def of(self, event: Event) -> tuple[int, ...]:
        """The ranks of a call on fewer ranks than the run has; () for any other."""
        members = event["members"] or ()
        known = tuple(sorted({rank for rank in members if rank is not None}))
        return known if len(members) < self.size else ()

    def shade(self, event: Event) -> str:
        """The colour of a call: its kind's own if it is made on all ranks."""
        full, group = colour(event["kind"]), self.of(event)
        if not group:
            return full
        other, part = SHADES[self.numbers[group] % len(SHADES)]
        return to_hex([(1 - part) * own + part * mixed for own, mixed in zip(to_rgb(full), to_rgb(other), strict=True)])


def group_name(group: Sequence[int]) -> str:
    """``on ranks 0, 2, 4–7``. group: sorted."""
    parts = shorten_ranks(group, "–")
    shown = parts[:PARTS] + ["…"] * (len(parts) > PARTS)
    return f"on rank{'s' * (len(group) > 1)} {', '.join(shown)}"
