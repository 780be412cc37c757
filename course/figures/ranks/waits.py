"""Who waited for whom, and how long, from the events of a run. The ranks' clocks are taken to agree."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from course.watch.events import BY_KIND, MOVES, PREFIX, Event
from course.watch.messages import Message
from course.watch.wording import name_ranks

FROM_ROOT = ("broadcast", "scatter")
BETWEEN_TWO = ("send", "recv", "sendrecv", "probe", *MOVES)
COLLECTIVES = frozenset(BY_KIND) - {*BETWEEN_TWO}
CLAUSES = 4  # of a hang, at most


@dataclass(frozen=True)
class Wait:
    """A rank that waits in a call for others.

    others: none if they are not known. seconds: inf for ever. last: in which way they keep it waiting.
    """

    rank: int
    event: Event
    others: tuple[int, ...]
    seconds: float
    last: str = ""


def waits(events: Sequence[Sequence[Event]], sent: Sequence[Message]) -> Iterator[Wait]:
    """Every wait of a run. events: by rank. sent: its messages, see `course.watch.messages`."""
    for meeting in meetings(events):
        for rank, event in meeting.items():
            yield from wait_for_last(rank, event, meeting, events)
    yield from waits_for_messages(events, sent)
    for rank, of_rank in enumerate(events):
        for event in of_rank:
            if not is_collective(event) and waits_for_ever(event):
                other = event["source"] if event["source"] is not None else event["peer"]
                yield Wait(rank, event, () if other is None else (other,), math.inf)


def waits_for_ever(event: Event) -> bool:
    """Whether a rank had begun to wait for a call that never ended."""
    return event["end"] is None and event["waited"] is not None


def is_collective(event: Event) -> bool:
    """Whether all members of a communicator make this call, and it can be found out who came late to it."""
    operation = event["op"].lower()
    # Those of neighbours concern neighbours only; a communicator is made of a group by its own ranks.
    apart = "neighbor_" in operation or "create_group" in operation
    return event["kind"] in COLLECTIVES and event["members"] is not None and not apart


def meetings(events: Sequence[Sequence[Event]]) -> list[dict[int, Event]]:
    """The calls that belong together, by rank: the n-th ones of a kind on the same members."""
    found: dict[tuple, dict[int, Event]] = defaultdict(dict)
    for rank, of_rank in enumerate(events):
        numbers: Counter[tuple] = Counter()
        for event in filter(is_collective, of_rank):
            what = event["library"], event["kind"], tuple(event["members"] or ()), event["context"]
            found[*what, numbers[what]][rank] = event
            numbers[what] += 1
    return list(found.values())


def wait_for_last(
    rank: int, event: Event, meeting: dict[int, Event], events: Sequence[Sequence[Event]]
) -> Iterator[Wait]:
    """The wait of a rank in a collective, if any: for the last of those that it needs, or for those that never come."""
    root = event["peer"] if event["kind"] in FROM_ROOT and event["peer"] != rank else None
    needed = {member for member in event["members"] or () if member not in (None, rank)}
    if waits_for_ever(event):
        missing = needed - meeting.keys()
        others = {root} if root in missing else missing
        one = len(others) == 1
        how = f"never make{'s' * one} that call"
        if elsewhere := [other for other in others if makes_elsewhere(event, events[other])]:
            whole = len(elsewhere) == len(others)
            how = f"make{'s' * one} that call on another communicator" if whole else "are not in that call"
        yield Wait(rank, event, tuple(sorted(others)), math.inf, how)
        return
    needed = {root} if root in needed else needed
    came = [(other["start"], who) for who, other in meeting.items() if who in needed]
    if not came or event["waited"] is None:
        return
    start, last = max(came)
    # Who leaves before the last one comes did not need it: the root of a broadcast, a rank that brings its part to one.
    if event["waited"] < start <= event["end"]:
        how = "is the root and comes late" if last == root else "comes last"
        yield Wait(rank, event, (last,), start - event["waited"], how)


def makes_elsewhere(event: Event, others: Sequence[Event]) -> bool:
    """Whether a rank waits for ever in the same call as this one, on another communicator."""
    waiting = [other for other in others if waits_for_ever(other)]
    return any((other["library"], other["op"]) == (event["library"], event["op"]) for other in waiting)


def waits_for_messages(events: Sequence[Sequence[Event]], sent: Sequence[Message]) -> Iterator[Wait]:
    """The waits of ranks that receive before the other one sends, or that send and cannot go on before it receives."""
    halves = [(rank, event) for rank, of_rank in enumerate(events) for event in of_rank if event["kind"] in BETWEEN_TWO]
    starts = {(rank, event["start"]): event for rank, event in halves}
    ends = {(rank, event["end"]): event for rank, event in halves}
    for message in sent:
        send = starts[message.source, message.sent]
        receive = None if message.arrived is None else ends[message.destination, message.arrived]
        if receive is None:
            continue
        if receive["waited"] is not None and receive["waited"] < message.sent:
            seconds = message.sent - receive["waited"]
            yield Wait(message.destination, receive, (message.source,), seconds, "sends late")
        blocked = send["kind"] == "send" and None not in (send["waited"], send["end"])
        if blocked and send["waited"] < receive["start"] <= send["end"]:
            seconds = receive["start"] - send["waited"]
            yield Wait(message.source, send, (message.destination,), seconds, "receives late")


def in_words(events: Sequence[Sequence[Event]], sent: Sequence[Message]) -> str:
    """A sentence: who waits for ever, or else who waits longest. None, "", where it is not recorded when ranks wait:
    PyTorch's DistributedDataParallel waits for its all-reduces in C++."""
    found = list(waits(events, sent))
    if hangs := [wait for wait in found if wait.seconds == math.inf]:
        return hang_in_words(hangs)
    if any(is_collective(event) and event["waited"] is None for of_rank in events for event in of_rank):
        return ""
    longest = max(found, key=lambda wait: wait.seconds, default=None)
    if longest is None:
        return "No rank waits for another."
    return f"Longest wait: rank {longest.rank} waits {duration(longest.seconds)} {place(longest)}."


def hang_in_words(hangs: Sequence[Wait]) -> str:
    """A sentence about ranks that wait for ever. Those that wait in the same place for the same ranks are named
    together."""
    together: dict[str, list[int]] = defaultdict(list)
    for wait in sorted(hangs, key=lambda wait: wait.rank):
        ranks = together[place(wait)]
        if wait.rank not in ranks:
            ranks.append(wait.rank)
    clauses = [f"{name_ranks(ranks)} wait{'s' * (len(ranks) == 1)} for ever {how}" for how, ranks in together.items()]
    named = {rank for ranks in list(together.values())[:CLAUSES] for rank in ranks}
    more = len({wait.rank for wait in hangs} - named)
    clauses[CLAUSES:] = [f"so do{'es' * (more == 1)} {more} more rank{'s' * (more > 1)}"] * (more > 0)
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}."


def place(wait: Wait) -> str:
    """``in comm.allreduce (line 8) for rank 3, which comes last``.

    The wait for an operation that goes on after its call is in a later call, of which no line is known.
    """
    event = wait.event
    line = "" if event["line"] is None else f" (line {event['line']})"
    within = "to complete" if event["waited"] is not None and event["waited"] > event["start"] else "in"
    others = f" for {name_ranks(list(wait.others))}" if wait.others else ""
    how = f", which {wait.last}" if wait.others and wait.last else ""
    return f"{within} {PREFIX[event['library']]}.{event['op']}{line}{others}{how}"


def duration(seconds: float) -> str:
    """Seconds as text, with two digits or more."""
    number, unit = (seconds, "s") if seconds >= 1 else (1e3 * seconds, "ms")
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"
