"""Verdicts on messages between pairs of ranks: which ones a plan allows, and who waits for whom at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import MESSAGES, named, only
from autograde.verdicts.judged import Run
from autograde.verdicts.traffic import traffic
from course.world.report import name_ranks

finding = Findings("""
no-such-rank 1
An error on {who} of {size}: MPI knows no rank of the number it was given. The first rank has nobody before it, and the
last one nobody behind it. Which ranks have nobody at the other end?

receives-first 2
A deadlock: {who} wait for a message, and each of them would send its own only after that. So nobody sends the first
one. Which rank must not wait?

sends-first 2
A deadlock: {who} stand in a send, each waiting until its message is taken, and none of them has come to its receive.
MPI may keep a small message for later, and need not. Who has to receive while the other one sends?

buffer-too-short 1
An error on {who}: a message has more entries than the array has room for into which it is received. How many does the
sender send?

message-not-received 1
{who}, and no rank ever receives that message. Either it is one too many, or a receive is missing.

message-never-sent 2
A deadlock: {who} for a message, and the rank that should send it has already returned. Which rank leaves a send out?

other-messages 1
Rank {source} sends a message to rank {destination}. Only {allowed} should send messages to each other here. Draw the
ranks and your arrows, and see which one is not asked for.

too-many-messages 1
Rank {source} sends {n} messages to rank {destination} in one call of your function, where one is enough.

collective-for-messages 1
The ranks call {ops}: a collective, in which all ranks take part. Here only {allowed} have to do with
each other, and no rank should have to wait for all.
""")


def open_calls(run: Run) -> dict[int, dict]:
    """By rank, the message call in which it waits at the end of a run."""
    logs = run.of_call(run.reached)
    waiting = {
        rank: [each for each in log if each["end"] is None and each["waited"] is not None]
        for rank, log in enumerate(logs)
    }
    return {rank: calls[-1] for rank, calls in waiting.items() if calls and calls[-1]["kind"] in MESSAGES}


def stuck(run: Run) -> Iterator[Finding]:
    """What a run with messages that did not come to its end means: who waits for whom."""
    for error, key in ("MPI_ERR_RANK", "no-such-rank"), ("MPI_ERR_TRUNCATE", "buffer-too-short"):
        if ranks := [rank["rank"] for rank in run.ranks if error in (rank["error"] or {}).get("message", "")]:
            yield finding(key, run.report, who=name_ranks(ranks), size=len(run.ranks))
            return
    calls = open_calls(run) if run.state == "hang" else {}
    if any(event["kind"] not in MESSAGES for log in run.of_call(run.reached) for event in log):
        return
    for kind, key in ("send", "sends-first"), ("recv", "receives-first"):
        if ring := in_circle({rank: each["peer"] for rank, each in calls.items() if each["kind"] == kind}):
            yield finding(key, run.report, who=name_ranks(ring))
            return
    for rank, each in calls.items():
        if each["peer"] is not None and each["peer"] not in calls:
            what = f"rank {rank} waits in comm.{each['op']}"
            if each["kind"] == "send":
                yield finding("message-not-received", run.report, who=f"R{what[1:]}, sending to rank {each['peer']}")
            elif each["kind"] == "recv":
                yield finding("message-never-sent", run.report, who=what)
            return


def in_circle(waits: dict[int, int | None]) -> list[int]:
    """The ranks of a circle in which each waits for another one; none if there is no circle. waits: rank by rank."""
    for start in waits:
        path, rank = [], start
        while rank in waits and rank not in path:
            path.append(rank)
            rank = waits[rank]
        if rank in path:
            return sorted(path[path.index(rank) :])
    return []


def other_messages(logs: list[list[dict]], allowed: set[tuple[int, int]], words: str) -> list[Finding]:
    """What is wrong with the messages of one call, where each pair of `allowed` sends at most one.

    logs: events by rank. allowed: pairs (source, destination). words: the same for the student, such as "partners".
    """
    events = [event for log in logs for event in log if event["kind"] != "communicator"]
    found = only("mpi4py", logs)
    if collectives := [event for event in events if event["kind"] not in MESSAGES and event["kind"] != "probe"]:
        found.append(finding("collective-for-messages", ops=named(collectives), allowed=words))
    seen = traffic(logs)
    for (source, destination), n in sorted(seen.sends.items()):
        if (source, destination) not in allowed:
            found.append(finding("other-messages", source=source, destination=destination, allowed=words))
        elif n > 1:
            found.append(finding("too-many-messages", source=source, destination=destination, n=n))
    if not found and (lost := [each for each in seen.messages if each.arrived is None]):
        who = f"Rank {lost[0].source} sends a message to rank {lost[0].destination}"
        found.append(finding("message-not-received", who=who))
    return found
