"""Judges of messages: who sends to whom, how often, and whether each is received and waited for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from autograde.rubric.criterion import Call, of_record
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.collectives import MESSAGES, named
from autograde.verdicts.traffic import traffic

CARRY_NOTHING = ("communicator", "probe")  # kinds of calls

words = Words("""
collective-among-messages: The ranks call {ops}: a collective of the library, in which all ranks take part and wait for
each other. Here only {who} exchange messages.

message-to-another-rank: Rank {source} sends a message to rank {destination}. Only {who} should send messages to each
other here. Draw the ranks and your arrows, and see which one is not asked for.

more-messages-than-needed: Rank {source} sends {n:message} to rank {destination} in one call of your function, where
{most} is enough.

message-missing: Rank {source} sends no message to rank {destination}. Who has what, before anything is sent, and who
needs it?

nobody-receives: Rank {source} sends a message to rank {destination}, and no rank ever receives it. Either it is one too
many, or a receive is missing.

send-not-waited-for: Line {line} starts {op}, and nothing waits for it to finish. Until it has, the array must not be
changed or thrown away, and an error would go unseen.

receive-not-waited-for: Line {line} starts {op}, and nothing waits for it to finish. What your code reads before that is
not the message yet.
""")


def messages_between(
    pairs: Callable[[Call], Collection[tuple[int, int]]], who: str, *, least: int = 0, most: int = 1
) -> Callable[[Call], Wrong | None]:
    """Messages go between these pairs of ranks only, so many for each; all are received and waited for.

    pairs: of a call, (source, destination) of those that are allowed; a rank need send nothing to itself. who: the same
    in words, such as "partners". least, most: messages of a pair.
    """

    @of_record
    def judge(call: Call) -> Wrong | None:
        events = [event for log in call.events for event in log]
        if others := [event for event in events if event["kind"] not in (*MESSAGES, *CARRY_NOTHING)]:
            return words("collective-among-messages", ops=named(others), who=who)
        seen, allowed = traffic(call.events), {*pairs(call)}
        for (source, destination), n in sorted(seen.sends.items()):
            about = {"source": source, "destination": destination, "n": n, "most": most, "who": who}
            if (source, destination) not in allowed:
                return words("message-to-another-rank", **about)
            if n > most:
                return words("more-messages-than-needed", **about)
        for source, destination in sorted(allowed):
            if source != destination and seen.sends[source, destination] < least:
                return words("message-missing", absent=True, source=source, destination=destination)
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
    left = [event for log in call.events for event in log if event["end"] is None]
    if not left:
        return None
    key = "send-not-waited-for" if left[0]["kind"] == "send" else "receive-not-waited-for"
    return words(key, absent=True, line=left[0]["line"], op=left[0]["op"])


JUDGES = (messages_between, received, waited_for)
