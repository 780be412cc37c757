"""All that differs between the ranks of a run, though it should not.

Worked out from the events of a run, each rank's on its own clock: no times of two ranks are compared.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from course.watch.differences.collectives import compared
from course.watch.differences.conditions import with_conditions
from course.watch.differences.difference import Difference, Recorded, difference
from course.watch.differences.groups import Streams, comparable, items_in, streams
from course.watch.differences.messages_met import Half
from course.watch.differences.replay import Replay
from course.watch.differences.standstill import causes, never_received
from course.watch.events import Event
from course.watch.notes import without_notes
from course.watch.wording import call_name, capital, in_line, name_ranks


def differences(ranks: Sequence[Recorded]) -> list[Difference]:
    """What differs between these ranks, each kind once in the same lines; also where the run came to its end, as MPI
    let it pass; none, where a record has no end. ranks: of a run, in their order."""
    if any(rank.full for rank in ranks):
        return []
    with uncollected():
        once = {(each.key, each.lines, each.ranks): each for each in reversed(found_in(ranks))}
        return with_conditions([*once.values()][::-1], ranks)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for garbage, which looks at each call of a long record again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def found_in(ranks: Sequence[Recorded]) -> list[Difference]:
    """See `differences`; each time that it is seen, and without what decides about calls."""
    logs = without_joined([without_notes(rank.events) for rank in ranks])
    ended = [rank.state == "returned" and not rank.unseen for rank in ranks]
    broken = any(rank.state != "returned" for rank in ranks)
    calls = streams(logs)
    found, parted = compared(calls, ended, broken)
    if in_step(calls, logs):
        return found
    replay = Replay(logs, ended, parted)
    found += replayed(replay)
    found += in_messages(replay)
    left = [half for half in replay.post.not_received() if ended[half.destination]]
    found += [never_received(half.rank, half.event) for half in left]
    events = {id(half.event) for half in left}
    found += never_waited(
        [[e for e in log if id(e) not in events] if end else [] for log, end in zip(logs, ended, strict=True)]
    )
    return found


def without_joined(logs: Sequence[Sequence[Event]]) -> list[Sequence[Event]]:
    """The events by rank; without Horovod's if a rank joins, as it then takes part in what the others do."""
    if not any(event["library"] == "horovod" and event["op"] == "join" for log in logs for event in log):
        return [*logs]
    return [[event for event in log if event["library"] != "horovod"] for log in logs]


def in_step(calls: Streams, logs: Sequence[Sequence[Event]]) -> bool:
    """Whether nothing but collective calls of all ranks was made, each of which waited for its end: no rank can have
    stood where another did not come. calls: of `logs`."""
    if len(calls) != 1:
        return False
    ((group, by_rank),) = calls.items()
    if {*group.members} != {*range(len(logs))} or len({len(by_rank[rank]) for rank in range(len(logs))}) > 1:
        return False
    whole = all(len(by_rank[rank]) == len(log) for rank, log in enumerate(logs))
    return whole and all(e["waited"] == e["start"] and e["end"] is not None for log in logs for e in log)


def waiting_for_ever(events: Sequence[Sequence[Event]], ended: Sequence[bool]) -> Collection[int]:
    """The ranks that wait for what no rank that still runs can bring. events: by rank, up to now. ended: by rank,
    whether it has returned."""
    logs = without_joined([without_notes(log) for log in events])
    replay = Replay(logs, ended, compared(streams(logs), ended, broken=True)[1])
    replay.run()
    while replay.release([*replay.standing()]):
        replay.run()
    return replay.stuck().keys()


def replayed(replay: Replay) -> list[Difference]:
    """Why the run stands still where nothing is kept for later."""
    found, early, seen = [], [], set()
    while True:
        replay.run()
        stuck = replay.stuck()
        where = tuple((rank, event["op"], event["line"]) for rank, (event, _) in stuck.items())
        whys = [] if where in seen else causes(replay, stuck)  # in a loop, the same again
        seen.add(where)
        for why in whys:
            (early if why.sends else found).append(why)
        concerned = [rank for why in whys for rank in why.ranks if rank in stuck]
        if not replay.release(concerned) and not replay.release([*replay.standing()]):
            break
    found += [why for why in early if not why.difference.passed or all(half.other for half in why.sends)]
    return [why.difference for why in found]


def in_messages(replay: Replay) -> Iterator[Difference]:
    """What differs between the two ends of a message."""
    for send, receive in replay.post.met:
        yield from between(send, receive)


def between(send: Half, receive: Half) -> Iterator[Difference]:
    """What differs between a send and its receive."""
    sent, taken = send.event, receive.event
    if taken["kind"] == "sendrecv" or "object" in sent["op"] or "object" in taken["op"]:
        return
    mpi = sent["library"] == "mpi4py"
    packed, packs = mpi and taken["op"][0].islower(), mpi and sent["op"][0].islower()
    calls = [(send.rank, sent), (receive.rank, taken)]
    ends = f"Rank {send.rank} sends {{}} in {call_name(sent)}{in_line(sent)}, and rank {receive.rank} receives {{}} in "
    ends += f"{call_name(taken)}{in_line(taken)}."
    if packed != packs:
        if (packs and comparable(taken["dtype"])) or (packed and taken["failed"]):
            text = ends.format(*(("a packed object", "numbers as they are")[:: 1 if packs else -1]))
            both = "Both ends need calls with the same first letter, small or capital."
            yield difference("dtype-differs", calls, f"{text} {both}")
        return
    if packed:
        return
    if comparable(sent["dtype"]) and comparable(taken["dtype"]) and sent["dtype"] != taken["dtype"]:
        yield difference("dtype-differs", calls, ends.format(sent["dtype"], taken["dtype"]))
    elif None not in (sent["bytes"], taken["room"]) and (
        (sent["bytes"] > taken["room"] and taken["failed"]) or (not mpi and sent["bytes"] != taken["room"])
    ):
        amounts = items_in(sent["bytes"], sent["dtype"]), items_in(taken["room"], taken["dtype"])
        yield difference("size-differs", calls, ends.format(*amounts))


def never_waited(logs: Sequence[Sequence[Event]]) -> Iterator[Difference]:
    """Operations that go on after their call, and that nobody waited for. logs: by rank, of those that returned."""
    places: dict[tuple, dict[int, Event]] = defaultdict(dict)
    for rank, log in enumerate(logs):
        for event in log:
            if event["state"] == "under way" and event["kind"] not in NOT_ASKED and "autograd" not in event["op"]:
                places[event["library"], event["op"], event["line"]][rank] = event
    for calls in places.values():
        event = next(iter(calls.values()))
        means = "the array must not be changed until then" if event["kind"] == "send" else "its result is not there yet"
        never = f"{capital(name_ranks([*calls]))} never wait{'s' * (len(calls) == 1)}"
        yield difference(
            "never-waited", calls.items(), f"{never} for {call_name(event)}{in_line(event)} to complete: {means}."
        )


NOT_ASKED = frozenset({"window", "put", "get", "accumulate", "other"})
