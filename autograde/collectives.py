"""Verdicts on what ranks communicated, for TODOs in which all ranks are due to make the same collective calls.

Pure functions of the events of a run; see `course.watch` for what an event has.
"""

from __future__ import annotations

from autograde.check import Finding
from autograde.findings import Findings
from course.report import name_ranks

finding = Findings("""
world-not-comm 3
The run is on {size} of the world's ranks, but your code counts on {ranks}. Who belongs to the group that you were
given?

collective-skipped 3
A deadlock: {who} never made the call that the others wait in. A collective needs every rank of its group.

uneven-collectives 3
A deadlock: the ranks do not make equally many calls ({numbers}, in the order of the ranks), so the last ones find no
partner. One call of your function is to make one reduction.

no-reduction 3
No rank communicates, so each of {size} ranks knows its own part only. How does it come to know the others'?

allreduce-in-the-loop 1.5
One call of your function makes {n} reductions, and each one keeps all ranks waiting. What could a rank add up by itself
before?

reduce-not-allreduce 2
The ranks call {ops}, after which the result is on one rank only. Every rank has to return it.

other-communication 1.5
The ranks call {ops}. A single reduction that gives every rank the result does all that is needed.

other-library 2
This TODO is to communicate by {due}, but your code calls {ops}.

not-waited-for 2
Line {line} starts {ops}, and nobody waits for its end. What your code reads before is not the result yet.

float32 1.5
The ranks communicate float32. That is single precision: 7 digits of 16 are left.

starts-or-ends 1.5
Your function calls {calls}. The libraries are there before and after it, and it has to work again and again.

too-many-bytes 1
The reduction carries {bytes} bytes a rank. What a rank has to tell is one number, of 8 bytes.
""")


def wrong_group(size: int, logs: list[list[dict]], report: str = "") -> list[Finding]:
    """A finding if a rank called a collective of more ranks than take part. logs: events, one list a rank."""
    ranks = max([event["ranks"] or 0 for log in logs for event in log], default=0)
    return [finding("world-not-comm", report, size=size, ranks=ranks)] if ranks > size else []


def deadlock(calls: int, logs: list[list[dict]], report: str) -> list[Finding]:
    """A finding for a run that hangs because ranks made different numbers of calls, else none.

    calls: how often the student's function was called, with one collective due in each. logs: events, one list a rank.
    """
    numbers = [len(log) for log in logs]
    most = max(numbers)
    if min(numbers) == most:
        return []
    if most > calls:
        return [finding("uneven-collectives", report, numbers=", ".join(map(str, numbers)))]
    skipped = [rank for rank, number in enumerate(numbers) if number < most]
    return [finding("collective-skipped", report, who=name_ranks(skipped))]


def left_running(tried: list[list[str]]) -> list[Finding]:
    """A finding if a rank tried to start or end a library. tried: by rank, see `probes.nothing_starts_or_ends`."""
    calls = sorted({call for own in tried for call in own})
    return [finding("starts-or-ends", calls=" and ".join(calls))] if calls else []


def one_allreduce(library: str, logs: list[list[dict]]) -> list[Finding]:
    """What is wrong with the events of one call, where exactly one reduction of one float64 to all ranks is due.

    library: which is to be used. logs: events, one list a rank; a single rank may leave the reduction out.
    """
    events = [event for log in logs for event in log]
    if not events:
        return [finding("no-reduction", size=len(logs))] if len(logs) > 1 else []
    found, kinds = [], {event["kind"] for event in events}
    ops = " and ".join(sorted({f"{event['library']}'s {event['op']}" for event in events}))
    if {event["library"] for event in events} != {library}:
        found.append(finding("other-library", due=library, ops=ops))
    if open_ends := [event for event in events if event["end"] is None]:
        found.append(finding("not-waited-for", line=open_ends[0]["line"], ops=open_ends[0]["op"]))
    if kinds != {"allreduce"}:
        found.append(finding("reduce-not-allreduce" if kinds == {"reduce"} else "other-communication", ops=ops))
        return found
    if (most := max(map(len, logs))) > 1:
        found.append(finding("allreduce-in-the-loop", n=most))
    if any(event["dtype"] == "float32" for event in events):
        found.append(finding("float32"))
    elif (sent := max(event["bytes"] or 0 for event in events)) > 8:
        found.append(finding("too-many-bytes", bytes=sent))
    return found
