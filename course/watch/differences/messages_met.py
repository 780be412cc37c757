"""Sends and receives of a run as they meet, in the order in which they are posted."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

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

    @property
    def is_wild(self) -> bool:
        """Whether it takes what comes from anybody, or with any tag."""
        return self.source is None or self.tag is None

    @property
    def key(self) -> tuple:
        """What both ends of a message have in common."""
        return self.destination, self.group, self.source, self.tag

    def fits(self, other: Half) -> bool:
        """Whether a receive takes a send, in either order."""
        return self.group == other.group and self.meets(other) and self.same_tag(other)

    def meets(self, other: Half) -> bool:
        """Whether the ranks fit."""
        sources = None in (self.source, other.source) or self.source == other.source
        return sources and self.destination == other.destination and self.group.library == other.group.library

    def meets_elsewhere(self, other: Half) -> bool:
        """Whether it would fit on one communicator: each end is the same rank, or has the same number in the two
        communicators."""
        if self.group == other.group or self.group.library != other.group.library or not self.same_tag(other):
            return False
        ends = (self.source, self.destination), (other.source, other.destination)
        numbers = self.numbers(), other.numbers()
        return all(
            None in ranks or ranks[0] == ranks[1] or (None not in named and named[0] == named[1])
            for ranks, named in zip(zip(*ends, strict=True), zip(*numbers, strict=True), strict=True)
        )

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


class Waiting:
    """Halves of messages that wait at one end, all sends or all receives, in the order in which they are posted."""

    def __init__(self) -> None:
        # Each with its number, counted. Of a plain dict, the first of many is found slowly once others went before it.
        self.posted: dict[int, OrderedDict[Half, int]] = defaultdict(OrderedDict)  # by destination
        self.exact: dict[tuple, OrderedDict[Half, int]] = defaultdict(OrderedDict)  # whose source and tag are known
        self.wild: dict[int, OrderedDict[Half, int]] = defaultdict(OrderedDict)  # the others, by destination
        self.count = count()

    def places(self, half: Half) -> tuple[OrderedDict[Half, int], OrderedDict[Half, int]]:
        """Where a half waits."""
        place = self.wild[half.destination] if half.is_wild else self.exact[half.key]
        return self.posted[half.destination], place

    def add(self, half: Half) -> None:
        """Let a half wait."""
        number = next(self.count)
        for place in self.places(half):
            place[half] = number

    def take(self, half: Half) -> Half | None:
        """The first that waits and fits a half from the other end, which waits no more."""
        if half.is_wild:
            found = next(filter(half.fits, self.posted[half.destination]), None)
        else:
            exact, wild = self.exact.get(half.key), self.wild.get(half.destination)
            found = next(iter(exact)) if exact else None
            if wild and (other := next(filter(half.fits, wild), None)):
                found = other if found is None or wild[other] < exact[found] else found
        if found is not None:
            for place in self.places(found):
                del place[found]
        return found

    def __iter__(self) -> Iterator[Half]:
        for waiting in self.posted.values():
            yield from waiting


class Post:
    """Messages that are posted and not yet met."""

    def __init__(self) -> None:
        self.sends, self.receives = Waiting(), Waiting()
        self.met: list[tuple[Half, Half]] = []  # each send with its receive

    def post(self, half: Half) -> None:
        """Post a send or a receive. It meets the first that fits and waits at the other end."""
        mine, theirs = (self.sends, self.receives) if half.sends else (self.receives, self.sends)
        other = theirs.take(half)
        if other is None:
            mine.add(half)
        else:
            half.other, other.other = other, half
            self.met.append((half, other) if half.sends else (other, half))

    def sent_to(self, rank: int, fits: Callable[[Half], bool]) -> Half | None:
        """The first message to a rank that fits and was not received."""
        return next(filter(fits, self.sends.posted[rank]), None)

    def alone(self, half: Half, fits: Callable[[Half], bool]) -> Half | None:
        """The first half at the other end of a message that fits and has no partner. half: one that has none."""
        ends = self.receives if half.sends else self.sends
        return next((each for each in ends if each.event is not half.event and fits(each)), None)

    def not_received(self) -> Iterator[Half]:
        """The messages that nobody received."""
        return iter(self.sends)
