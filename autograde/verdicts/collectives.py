"""Verdicts on what ranks communicated, for TODOs in which all ranks should make the same collective calls.

Pure functions of the events of a run; see `course.watch.events` for what an event has.
"""

from __future__ import annotations

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.numbers import single_precision
from autograde.verdicts.reductions import among_ranks, unseen
from course.world.report import name_ranks

NAMES = {"mpi4py": "mpi4py", "torch": "torch.distributed", "horovod": "Horovod"}

finding = Findings("""
world-not-comm 3
The run is on {size} of the world's ranks, but your code works with {ranks}. The world may be larger than the group that
your function is for. Whom do you ask for the number of ranks?

collective-skipped 3
A deadlock: {who} never made the call in which {waiting} waits. A collective needs every rank of its group. Which
condition, or which early return, lets a rank pass it by?

uneven-collectives 3
A deadlock: in one call of your function, the ranks make {numbers} collective calls, by rank, so the last ones find no
partner. Ranks may have different amounts of work. Does a collective stand
in a loop over it, or behind an `if`?

unequal-sizes 2
The ranks bring tensors of different sizes to {op}: {sizes} bytes. What becomes of that depends on the backend; it need
not be an error. How does a rank know how much the others have?

no-reduction 3
No rank communicates with another one, so each of {size} ranks knows its own part only. How do the other ranks'
parts get to it?

allreduce-in-the-loop 1.5
One call of your function makes {n} reductions, and each of them keeps all ranks waiting. What could a rank add up by
itself first?

reduce-not-allreduce 2
The ranks call {ops}, after which only one rank has the result. Every rank has to return it.

other-communication 1.5
The ranks call {ops}. A single reduction that gives every rank the result does everything that is needed.

other-library 2
This TODO asks you to communicate by {expected}, but your code calls {ops}.

not-waited-for 2
Line {line} starts {ops}, and nothing waits for it to finish. {means}

starts-or-ends 1.5
Your function calls {calls}. The libraries are running before and after it, and it has to work again and again. Leave
starting and ending to whoever calls it.

lost-in-16-bits 2
The ranks communicate {dtype}, in which no more than 3 digits of 16 are left. Where does it get in?

too-many-bytes 1
The reduction carries {bytes} bytes a rank. One number, of 8 bytes, is all that a rank has to contribute.
""")


# What it means that nothing waits for a call.
SENT = "Until then the array must neither be changed nor thrown away, and an error would go unseen."
READ = "What your code reads before that is not the result yet."
MESSAGES = frozenset({"send", "recv", "sendrecv"})  # kinds of calls between two ranks


def group_sizes(logs: list[list[dict]]) -> list[int]:
    """How many ranks each call was made on. logs: events, one list a rank."""
    return [len(event["members"]) for log in logs for event in log if event["members"]]


def wrong_group(size: int, counted: list[int], report: str = "") -> list[Finding]:
    """A finding if a rank counts on more ranks than take part. counted: on how many, by call."""
    ranks = max(counted, default=0)
    return [finding("world-not-comm", report, size=size, ranks=ranks)] if ranks > size else []


def deadlock(logs: list[list[dict]], report: str) -> list[Finding]:
    """A finding for a run that hangs in a call of the student's function with collectives, which ranks call unequally
    often; else none.

    logs: events of this call, one list a rank.
    """
    logs = [[event for event in log if event["kind"] != "probe"] for log in logs]
    numbers = [len(log) for log in logs]
    if min(numbers) == max(numbers) or any(event["kind"] in MESSAGES for log in logs for event in log):
        return []
    if min(numbers) > 0:
        return [finding("uneven-collectives", report, numbers=", ".join(map(str, numbers)))]
    skipped = [rank for rank, number in enumerate(numbers) if not number]
    made = [rank for rank, number in enumerate(numbers) if number]
    waiting = [rank for rank in made if logs[rank][-1]["end"] is None]
    return [finding("collective-skipped", report, who=name_ranks(skipped), waiting=name_ranks(waiting or made))]


def unequal_sizes(logs: list[list[dict]], report: str = "") -> list[Finding]:
    """A finding for a collective of torch.distributed on tensors to which ranks brought different sizes.

    logs: events of one call, one list a rank.
    """
    for events in zip(*logs, strict=False):
        sizes = [event["bytes"] if event["room"] is None else event["room"] for event in events]
        ops = {event["op"] for event in events}
        torch = all(event["library"] == "torch" and "object" not in event["op"] for event in events)
        torch = torch and not any(event["kind"] in MESSAGES for event in events)
        if torch and len(ops) == 1 and None not in sizes and len({*sizes}) > 1:
            return [finding("unequal-sizes", report, op=ops.pop(), sizes=", ".join(map(str, sizes)))]
    return []


def left_running(tried: list[list[str]]) -> list[Finding]:
    """A finding if a rank tried to start or end a library. tried: by rank, see `probes.nothing_starts_or_ends`."""
    calls = sorted({call for of_rank in tried for call in of_rank})
    return [finding("starts-or-ends", calls=" and ".join(calls))] if calls else []


def only(library: str, logs: list[list[dict]]) -> list[Finding]:
    """What is wrong with the events of one call, where one library is to make all calls, and each is to be waited for.

    library: "mpi4py", "torch" or "horovod". logs: events, one list a rank.
    """
    events, found = [event for log in logs for event in log], []
    if {event["library"] for event in events} - {library}:
        found.append(finding("other-library", expected=NAMES[library], ops=named(events)))
    if left := [event for event in events if event["end"] is None]:
        means = SENT if left[0]["kind"] == "send" else READ
        found.append(finding("not-waited-for", line=left[0]["line"], ops=left[0]["op"], means=means))
    return found


def named(events: list[dict]) -> str:
    """The operations of some events, as text."""
    return " and ".join(sorted({f"{event['library']}'s {event['op']}" for event in events}))


def one_allreduce(library: str, logs: list[list[dict]], right: bool = False) -> list[Finding]:
    """What is wrong with the events of one call, where exactly one reduction of one float64 to all ranks is expected.

    library: which is to be used. logs: events, one list a rank; a single rank may leave the reduction out. right:
    whether all ranks returned what is expected: then they know of each other, however that was.
    """
    logs = [[event for event in log if event["times"] is None] for log in among_ranks(logs)]
    events = [event for log in logs for event in log]
    if not events:
        nothing = unseen() if right else finding("no-reduction", size=len(logs))
        return [nothing] if len(logs) > 1 else []
    found, kinds = only(library, logs), {event["kind"] for event in events}
    if kinds != {"allreduce"}:
        key = "reduce-not-allreduce" if kinds == {"reduce"} else "other-communication"
        return [*found, finding(key, ops=named(events))]
    if (most := max(map(len, logs))) > 1:
        found.append(finding("allreduce-in-the-loop", n=most))
    if any(event["dtype"] == "float32" for event in events):
        found.append(single_precision("The ranks communicate float32"))
    elif half := next((event["dtype"] for event in events if event["dtype"] in ("float16", "bfloat16")), ""):
        found.append(finding("lost-in-16-bits", dtype=half))
    elif (sent := max(event["bytes"] or 0 for event in events)) > 8:
        found.append(finding("too-many-bytes", bytes=sent))
    return found
