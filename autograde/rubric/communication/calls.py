"""What the ranks call, whatever it is: by which library, in which group, and whether it is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from autograde.rubric.judge import Call, of_record
from autograde.rubric.words import Words, Wrong

MESSAGES = frozenset({"send", "recv", "sendrecv"})  # kinds of calls between two ranks
CARRY_NOTHING = frozenset({"communicator", "probe"})  # kinds of calls that bring no data to anybody
NAMES = {"mpi4py": "mpi4py", "torch": "torch.distributed", "horovod": "Horovod"}

# What it means that nothing waits for a call.
SENT = "Until then the array must neither be changed nor thrown away, and an error would go unseen."
READ = "What your code reads before that is not the result yet."

words = Words("""
world-not-comm: The run is on {size} of the world's ranks, but your code works with {ranks}. The world may be larger
than the group that your function is for. Whom do you ask for the number of ranks?

other-library: This TODO asks you to communicate by {expected}, but your code calls {ops}.

not-waited-for: Line {line} starts {op}, and nothing waits for it to finish. {means}
""")


def named(events: Iterable[dict]) -> str:
    """The operations of some events, as text."""
    return " and ".join(sorted({f"{event['library']}'s {event['op']}" for event in events}))


def events_of(logs: Iterable[Iterable[dict]]) -> list[dict]:
    """The events of all ranks, one rank after the other."""
    return [event for log in logs for event in log]


def among_ranks(logs: Sequence[Sequence[dict]]) -> list[list[dict]]:
    """The events by which a rank may have to do with others: of a group of its own, as COMM_SELF is, none does."""
    alone = len(logs) > 1
    return [
        [event for event in log if not alone or event["members"] is None or len(event["members"]) > 1] for log in logs
    ]


def wrong_group(logs: Sequence[Sequence[dict]], report: str = "") -> Wrong | None:
    """What is wrong if a rank calls something on more ranks than take part. logs: events, one list a rank."""
    ranks = max((len(event["members"]) for event in events_of(logs) if event["members"]), default=0)
    return words("world-not-comm", report, size=len(logs), ranks=ranks) if ranks > len(logs) else None


@of_record
def of_the_group(call: Call) -> Wrong | None:
    """Judge: no rank calls something on more ranks than take part."""
    return wrong_group(call.events)


def of_library(library: str) -> Callable[[Call], Wrong | None]:
    """A judge: ranks communicate by this library alone, "mpi4py", "torch" or "horovod"."""

    @of_record
    def judge(call: Call) -> Wrong | None:
        events = events_of(call.events)
        if all(event["library"] == library for event in events):
            return None
        return words("other-library", expected=NAMES[library], ops=named(events))

    return judge


@of_record
def finished(call: Call) -> Wrong | None:
    """Judge: each call that a rank starts is waited for, a message or a collective."""
    left = next((event for event in events_of(call.events) if event["end"] is None), None)
    if left is None:
        return None
    means = SENT if left["kind"] == "send" else READ
    return words("not-waited-for", absent=True, line=left["line"], op=left["op"], means=means)
