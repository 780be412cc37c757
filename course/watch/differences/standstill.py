"""Why ranks stand still: what each of them waits for, and why that does not come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from course.watch.differences.difference import Difference, difference
from course.watch.differences.groups import group_of, is_collective, operation_of
from course.watch.differences.messages_met import SENDS, Half
from course.watch.differences.replay import OUTSIDE, Replay
from course.watch.events import ANY, Event
from course.watch.wording import call_name, capital, in_line, name_ranks

Standing = dict[int, tuple[Event, list[int | None]]]


@dataclass
class Cause:
    """A difference, and the ranks that it keeps. sends: the messages which ranks send before they receive, if that is
    the cause; it is not, if nobody ever receives them."""

    difference: Difference
    ranks: list[int]
    sends: list[Half] = field(default_factory=list)


def causes(replay: Replay, stuck: Standing) -> list[Cause]:
    """Why these ranks stand. What follows from a cause that is found is none."""
    found = [cause for rank in stuck for cause in mismatches(replay, rank, stuck)]
    found = found or [cause for rank in stuck for cause in left_alone(replay, rank, stuck)]
    return found or [circle(replay, ranks, stuck) for ranks in circles(stuck) if not took_any(ranks, stuck)]


def took_any(ranks: list[int], stuck: Standing) -> bool:
    """Whether one of these ranks took what came first. In another run that may be another message, which is there."""
    calls = [stuck[rank][0] for rank in ranks]
    return any(event["asked_source"] == ANY and event["end"] is not None for event in calls)


def mismatches(replay: Replay, rank: int, stuck: Standing) -> Iterator[Cause]:
    """Calls that would meet those that a rank stands in, with another tag or on another communicator."""
    event, others = stuck[rank]
    size = replay.size
    if is_collective(rank, event):
        for other in others:
            if other is not None and (found := elsewhere(replay, other, event)):
                calls = [(rank, event), (other, found)]
                if event["library"] == "horovod":
                    each = ", ".join(f"rank {rank} {call_name(one)}{in_line(one)}" for rank, one in calls)
                    text = f"The ranks make one call by different names: {each}. {group_of(event).rule}"
                    yield Cause(difference("name-differs", calls, text), [rank, other])
                    return
                text = (
                    f"The ranks make one call on different communicators: {each_on(calls, size)}. Only the calls on "
                    "one communicator belong together."
                )
                yield Cause(difference("communicator-differs", calls, text), [rank, other])
                return
        return
    for half in replay.waiting_halves(rank):
        if found := replay.post.alone(half, half.meets_elsewhere):
            calls = sorted([(rank, event), (found.rank, found.event)], key=lambda call: call[0])
            text = (
                f"A message and the receive for it are on different communicators: {each_on(calls, size)}. Only the "
                "calls on one communicator belong together."
            )
            yield Cause(difference("communicator-differs", calls, text), [rank, found.rank])
        elif found := replay.post.alone(half, half.meets):
            one, other = (half, found) if half.sends else (found, half)
            text = (
                f"Rank {one.rank} sends with tag {one.tag} in {call_name(one.event)}{in_line(one.event)}, and rank "
                f"{other.rank} receives with tag {other.tag} in {call_name(other.event)}{in_line(other.event)}. A "
                "receive takes only messages with its tag."
            )
            calls = [(one.rank, one.event), (other.rank, other.event)]
            yield Cause(difference("tag-differs", calls, text), [rank, found.rank])


def elsewhere(replay: Replay, rank: int, event: Event) -> Event | None:
    """The same collective call as this one, which a rank made on another communicator, where not all came to it."""
    for (who, number), place in replay.places.items():
        other = replay.logs[who][number]
        if who != rank or operation_of(other) != operation_of(event) or group_of(other) == group_of(event):
            continue
        group = group_of(other)
        if any(each is None or replay.counts[group, each] <= place for each in group.members):
            return other
    return None


def each_on(calls: list[tuple[int, Event]], size: int) -> str:
    """Which rank makes which call on which communicator."""
    parts = [
        f"rank {rank} {call_name(event)}{in_line(event)} on {group_of(event).words(size)}" for rank, event in calls
    ]
    return ", ".join(parts)


def left_alone(replay: Replay, rank: int, stuck: Standing) -> Iterator[Cause]:
    """Calls that wait for ranks which have returned."""
    event, others = stuck[rank]
    call = f"{call_name(event)}{in_line(event)}"
    gone = [other for other in others if other is not None and other not in stuck]
    alone = None in others and not any(other in stuck for other in group_of(event).members if other != rank)
    if not gone and not alone:
        return
    if is_collective(rank, event):
        together = [each for each in stuck if same_call(stuck[each][0], event)]
        if rank != together[0]:
            return
        calls = [(each, stuck[each][0]) for each in together]
        who, waits = name_ranks(together), f"wait{'s' * (len(together) == 1)} in"
        if gone == [OUTSIDE] * len(gone):
            group = group_of(event).words(replay.size)
            text = f"{capital(who)} {waits} {call} on {group}, which has ranks beside those of this run."
            yield Cause(difference("communicator-differs", calls, text), together)
            return
        missing = [other for other in gone if other != OUTSIDE]
        never = "never makes" if len(missing) == 1 else "never make"
        everyone = group_of(event).everyone
        text = f"{capital(name_ranks(missing))} {never} the call that {who} {waits}, {call}: {everyone} have to."
        yield Cause(difference("call-missing", calls, text, missing), together)
    elif event["kind"] in SENDS and any(half.sends for half in replay.waiting_halves(rank)):
        yield Cause(never_received(rank, event), [rank])
    else:
        whom = f"rank {gone[0]}" if gone else "any rank"
        returned = "which has returned without sending it" if gone else "and all others have returned"
        text = f"Rank {rank} waits in {call} for a message from {whom}, {returned}."
        absent = gone[:1] or [each for each in group_of(event).members if each not in (rank, None)]
        yield Cause(difference("never-sent", [(rank, event)], text, absent), [rank])


def never_received(rank: int, event: Event) -> Difference:
    """The difference for a message that its destination did not receive."""
    text = (
        f"The message that rank {rank} sends to rank {event['peer']} in {call_name(event)}{in_line(event)} is never "
        f"received: rank {event['peer']} has returned."
    )
    return difference("never-received", [(rank, event)], text, [event["peer"]])


def same_call(one: Event, other: Event) -> bool:
    """Whether two ranks stand in one collective call."""
    return group_of(one) == group_of(other) and operation_of(one) == operation_of(other)


def circles(stuck: Standing) -> Iterator[list[int]]:
    """Circles of ranks each of which waits for the next."""
    seen: set[int] = set()
    for start in stuck:
        path: list[int] = []
        rank: int | None = start
        while rank is not None and rank not in seen and rank not in path:
            path.append(rank)
            event, others = stuck[rank]
            members = [each for each in group_of(event).members if each in stuck and each != rank]
            rank = next((each for each in [*others, *members * (None in others)] if each in stuck), None)
        if rank in path:
            yield path[path.index(rank) :]
        seen |= {*path}


def circle(replay: Replay, ranks: list[int], stuck: Standing) -> Cause:
    """What a circle of ranks means."""
    calls = [(rank, stuck[rank][0]) for rank in sorted(ranks)]
    stand = "; ".join(f"rank {rank} in {call_name(event)}{in_line(event)}{whom(stuck[rank])}" for rank, event in calls)
    kinds = {event["kind"] for _, event in calls}
    if kinds == {"send"}:
        text = (
            f"All send before they receive: {stand}. MPI may keep a message until it is received, and need not; then "
            "each waits for the next one. Who has to receive first?"
        )
        if len(calls) == 1:
            text = f"A rank sends a message to itself before it receives it: {stand}. Post the receive first."
        sends = [half for rank in ranks for half in replay.waiting_halves(rank)]
        return Cause(difference("sends-first", calls, text), sorted(ranks), sends)
    if kinds <= {"recv", "probe"}:
        text = f"All wait for a message that nobody has sent: {stand}. Who has to send first?"
        if len(calls) == 1:
            text = f"A rank waits for a message from itself, which it would send only after that: {stand}."
        return Cause(difference("never-sent", calls, text), sorted(ranks))
    text = f"The ranks wait for each other in different calls: {stand}. Which call has to come first on all of them?"
    return Cause(difference("other-order", calls, text), sorted(ranks))


def whom(standing: tuple[Event, list[int | None]]) -> str:
    """For whom a rank stands."""
    _, others = standing
    return "" if None in others else f", for {name_ranks(sorted(each for each in others if each is not None))}"
