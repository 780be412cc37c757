"""Verdicts on messages between pairs of ranks: who waits for whom at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import MESSAGES
from autograde.verdicts.exchanges import finding as exchanged
from autograde.verdicts.judged import Run
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
An error on {who}: a message has more bytes than the array has room for into which it is received. How many entries does
the sender send, and of which dtype?

message-never-sent 2
A deadlock: {who} for a message, and the rank that should send it has already returned. Which rank leaves a send out?
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
                yield exchanged("message-not-received", run.report, who=f"R{what[1:]}, sending to rank {each['peer']}")
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
