"""Sends and receives of a run as they meet, in the order in which they are posted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from course.watch.differences.groups import Group, group_of
from course.watch.events import ANY, Event

SENDS, RECEIVES = frozenset({"send", "sendrecv"}), frozenset({"recv", "sendrecv"})


@dataclass(eq=False)
class Half:
    """One end of a message. sends: which one. source, destination, tag: None for any. other: its partner."""

    rank: int
    event: Event
    sends: bool
    group: Group
    source: int | None
    destination: int
    tag: int | None
    other: Half | None = None

    def fits(self, other: Half) -> bool:
        """Whether a receive takes a send, in either order."""
        return self.group == other.group and self.meets(other) and self.same_tag(other)

    def meets(self, other: Half) -> bool:
        """Whether the ranks fit."""
        sources = None in (self.source, other.source) or self.source == other.source
        return sources and self.destination == other.destination and self.group.library == other.group.library

    def meets_elsewhere(self, other: Half) -> bool:
        """Whether it would fit on one communicator: the ranks fit, or their numbers in the two communicators do."""
        if self.group == other.group or self.group.library != other.group.library or not self.same_tag(other):
            return False
        return self.meets(other) or self.numbers() == other.numbers()

    def numbers(self) -> list[int | None]:
        """The numbers that source and destination have in the communicator."""
        members = self.group.members
        return [members.index(rank) if rank in members else None for rank in (self.source, self.destination)]

    def same_tag(self, other: Half) -> bool:
        """Whether the tags fit."""
        return None in (self.tag, other.tag) or self.tag == other.tag


def place(rank: int, event: Event) -> Group:
    """The communicator of a message; the same on both sides of one that has two."""
    group = group_of(event)
    return group if rank in group.members else Group(group.library, (), None)


def send_of(rank: int, event: Event, size: int) -> Half | None:
    """The message that a call sends, if it does."""
    peer = event["peer"]
    if event["kind"] not in SENDS or event["failed"] or peer is None or not 0 <= peer < size:
        return None
    return Half(rank, event, True, place(rank, event), rank, peer, event["tag"])


def receive_of(rank: int, event: Event) -> Half | None:
    """The message that a call receives, or waits for, if it does. Of one that came, it is known from whom."""
    if event["kind"] not in RECEIVES:
        return None
    both = event["kind"] == "sendrecv"
    came = event["source"] if both else event["peer"]
    asked, tag = event["asked_source"], event["asked_tag"]
    if asked is None and came is None:  # from nobody
        return None
    if event["end"] is not None and not event["failed"]:
        asked = asked if came is None else came
        tag = event["received_tag"] if event["received_tag"] is not None or both else event["tag"]
        tag = event["asked_tag"] if tag is None else tag
    elif asked is None:
        asked, tag = came, event["tag"]
    return Half(rank, event, False, place(rank, event), known(asked), rank, known(tag))


def known(number: int | None) -> int | None:
    """A source or a tag; None for any."""
    return None if number == ANY else number


class Post:
    """Messages that are posted and not yet met."""

    def __init__(self) -> None:
        self.sends: dict[int, list[Half]] = defaultdict(list)  # by destination
        self.receives: dict[int, list[Half]] = defaultdict(list)
        self.met: list[tuple[Half, Half]] = []  # each send with its receive

    def post(self, half: Half) -> None:
        """Post a send or a receive. It meets the first that fits and waits at the other end."""
        mine, theirs = (self.sends, self.receives) if half.sends else (self.receives, self.sends)
        waiting = theirs[half.destination]
        for number, other in enumerate(waiting):
            if half.fits(other):
                del waiting[number]
                half.other, other.other = other, half
                self.met.append((half, other) if half.sends else (other, half))
                return
        mine[half.destination].append(half)

    def sent_to(self, rank: int, fits: Callable[[Half], bool]) -> Half | None:
        """The first message to a rank that fits and was not received."""
        return next(filter(fits, self.sends[rank]), None)

    def alone(self, half: Half, fits: Callable[[Half], bool]) -> Half | None:
        """The first half at the other end of a message that fits and has no partner. half: one that has none."""
        ends = self.receives if half.sends else self.sends
        return next(
            (each for waiting in ends.values() for each in waiting if each.event is not half.event and fits(each)), None
        )

    def not_received(self) -> Iterator[Half]:
        """The messages that nobody received."""
        for waiting in self.sends.values():
            yield from waiting
