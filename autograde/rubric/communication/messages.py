"""Judges of messages: who sends to whom, how often, how many bytes, and whether each is received and waited for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from autograde.probes.under_way import CHANGED, STARTS
from autograde.rubric.communication.calls import CARRY_NOTHING, MESSAGES, events_of, named, of_library
from autograde.rubric.communication.traffic import Traffic, traffic
from autograde.rubric.judge import Call, of_record
from autograde.rubric.words import Words, Wrong
from course.watch.notes import note_of

words = Words("""
collective-among-messages: The ranks call {ops}: a collective of the library, in which all ranks take part and wait for
each other. Here only {who} exchange messages.

message-to-another-rank: Rank {source} sends a message to rank {destination}. Only {who} should send messages to each
other here. Draw the ranks and your arrows, and see which one is not asked for.

fewer-messages-than-needed: Rank {source} sends {n:message} to rank {destination} in one call of your function, where
{least} are needed.

more-messages-than-needed: Rank {source} sends {n:message} to rank {destination} in one call of your function, where
{most} would do.

message-missing: Rank {source} sends no message to rank {destination}. Who has what, before anything is sent, and who
needs it?

nobody-receives: Rank {source} sends a message to rank {destination}, and no rank ever receives it. Either it is one too
many, or a receive is missing.

send-not-waited-for: Line {line} starts {op}, and nothing waits for it to finish. Until it has, what it sends must
not be changed or thrown away, and an error would go unseen.

changed-under-way: Line {line} starts {op}, and rank {rank} changes the array before the send is complete. Until then
MPI may still read it: what arrives can be the one or the other. From when on is the array yours again?

receive-not-waited-for: Line {line} starts {op}, and nothing waits for it to finish. What your code reads before that is
not the message yet.

no-messages: No rank sends a message to another one, so each of {size:rank} knows its own array only. How does it get
the others'?

pickled-messages: Your messages are sent by {ops}, which packs them as Python objects. Send arrays as they are, by the
calls with a capital letter.

message-too-large: Rank {rank} sends a message of {bytes:byte} to rank {destination}, where {most} are enough. {hint}

twice-the-bytes: Rank {rank} sends a message of {bytes} bytes to rank {destination}, twice as many bytes as there
should be: float32 numbers travel as float64. Where do they become float64?
""")


def messages_between(
    pairs: Callable[[Call], Collection[tuple[int, int]]],
    who: str,
    *,
    least: int | Callable[[Call], int] = 0,
    most: int | Callable[[Call], int] | None = None,
    library: str = "mpi4py",
) -> Callable[[Call], Wrong | None]:
    """Messages go between these pairs of ranks only, each once if `least` is 1; all are received and waited for.

    pairs: of a call, (source, destination) of those that are allowed; a rank need send nothing to itself. who: the same
    in words, such as "partners". least, most: how many messages one call sends from the first to the second rank of a
    pair, numbers or functions of the call; pairs are a set, so one that is named twice still sends as many. Without
    `most` it is 1, or `least` where that is more. library: by which they are sent, "mpi4py" or "torch". The judge
    raises ValueError where `least` is more than `most`.
    """

    @of_record
    def judge(call: Call) -> Wrong | None:
        if wrong := other_communication(call, who, library):
            return wrong
        seen, allowed = traffic(call.events), {*pairs(call)}
        fewest = least(call) if callable(least) else least
        largest = most(call) if callable(most) else max(1, fewest) if most is None else most
        if fewest > largest:
            raise ValueError(f"a pair cannot send at least {fewest} messages, and at most {largest}")
        for (source, destination), n in sorted(seen.sends.items()):
            about = {"source": source, "destination": destination, "n": n, "most": largest, "who": who}
            if (source, destination) not in allowed:
                return words("message-to-another-rank", **about)
            if n > largest:
                return words("more-messages-than-needed", **about)
        for source, destination in sorted(allowed):
            if source != destination and (n := seen.sends[source, destination]) < fewest:
                about = {"source": source, "destination": destination, "n": n, "least": fewest}
                return words("fewer-messages-than-needed" if n else "message-missing", absent=True, **about)
        return waited_for(call) or received(call)

    return judge


@of_record
def received(call: Call) -> Wrong | None:
    """Each message is received."""
    lost = next((each for each in traffic(call.events).messages if each.arrived is None), None)
    if lost is None:
        return None
    return words("nobody-receives", absent=True, source=lost.source, destination=lost.destination)


@of_record
def waited_for(call: Call) -> Wrong | None:
    """Each call that was started is waited for."""
    left = [event for event in events_of(call.events) if event["end"] is None]
    if not left:
        return None
    key = "send-not-waited-for" if left[0]["kind"] == "send" else "receive-not-waited-for"
    return words(key, absent=True, line=left[0]["line"], op=left[0]["op"])


@of_record
def unchanged_under_way(call: Call) -> Wrong | None:
    """No array changes while it is sent. The probe calls the function with `autograde.probes.under_way`."""
    for rank, log in enumerate(call.notes):
        if begun := changed_under_way(log):
            return words("changed-under-way", line=begun["line"], op=begun["op"], rank=rank)
    return None


def changed_under_way(log: Sequence[dict]) -> dict | None:
    """The call of one rank that began to send an array which changed before that was complete. log: the rank's events
    with the notes of `autograde.probes.under_way` among them."""
    starts = [event for event in log if event["op"] in STARTS]
    for event in log:
        said, _, number = (note_of(event) or "").rpartition(" ")
        begun = starts[int(number) :][:1] if said == CHANGED else []
        if begun and (begun[0]["end"] is None or event["start"] <= begun[0]["end"]):
            return begun[0]
    return None


@of_record
def messages_alone(call: Call) -> Wrong | None:
    """Ranks communicate by messages of mpi4py between two of them alone: no collective, and no other library."""
    return other_communication(call, "two ranks at a time")


def other_communication(call: Call, who: str, library: str = "mpi4py") -> Wrong | None:
    """What is wrong if ranks communicate otherwise than by messages of a library. who: exchanges those, in words."""
    if others := [event for event in events_of(call.events) if event["kind"] not in MESSAGES | CARRY_NOTHING]:
        return words("collective-among-messages", ops=named(others), who=who)
    return of_library(library)(call)


@of_record
def buffer_messages(call: Call) -> Wrong | None:
    """Messages carry arrays as they are, no packed objects; each call is waited for, each message received, and no
    array changes while it is sent, where the probe calls the function with `sends_under_way(rank.comm)`."""
    events = [event for event in events_of(call.events) if event["kind"] in MESSAGES]
    if pickled := [event for event in events if event["library"] == "mpi4py" and event["op"].islower()]:
        return words("pickled-messages", ops=named(pickled))
    return waited_for(call) or received(call) or unchanged_under_way(call)


def some_message(needed: Callable[[Call], bool]) -> Callable[[Call], Wrong | None]:
    """Ranks send messages to each other. needed: whether a call needs any."""

    @of_record
    def judge(call: Call) -> Wrong | None:
        sent = any(event["kind"] in MESSAGES for event in events_of(call.events))
        return None if sent or not needed(call) else words("no-messages", absent=True, size=call.size)

    return judge


def too_large(seen: Traffic, most: int, dtype: str, hint: str) -> Wrong | None:
    """What is wrong if a message has more than `most` bytes. dtype: of the arrays that the ranks bring. hint: a
    question to the sender."""
    large = max(seen.messages, key=lambda each: each.bytes or 0, default=None)
    if large is not None and most and dtype == "float32" and large.bytes == 2 * most:
        return words("twice-the-bytes", rank=large.source, destination=large.destination, bytes=large.bytes)
    large = next((each for each in seen.messages if (each.bytes or 0) > most), None)
    if large is None:
        return None
    about = {"rank": large.source, "destination": large.destination, "bytes": large.bytes}
    return words("message-too-large", **about, most=most, hint=hint)


def senders_to(seen: Traffic, rank: int) -> list[int]:
    """Who sends to a rank."""
    return sorted(source for source, target in seen.sends if target == rank)


def depth(seen: Traffic, rank: int, path: tuple[int, ...] = ()) -> int:
    """Rounds until all that comes to a rank is there, if it receives what is ready first. path: ranks on the way to it,
    whose own receives do not count."""
    rounds = 0
    for each in sorted(depth(seen, source, (*path, rank)) for source in senders_to(seen, rank) if source not in path):
        rounds = max(rounds, each) + 1
    return rounds


def late_arrival(call: Call) -> dict | bool:
    """Whether a rank receives a message after it has sent one: both, as facts for a mistake's words."""
    found = traffic(call.events).messages
    for sent in found:
        for came in found:
            if came.destination == sent.source and came.arrived is not None and came.arrived > sent.sent:
                return {"rank": sent.source, "target": sent.destination, "source": came.source}
    return False
