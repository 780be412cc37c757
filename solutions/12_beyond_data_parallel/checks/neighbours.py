"""Verdicts on the messages of a pipeline: between neighbours, one for each micro-batch, and sent in time."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding, hiding
from autograde.rubric.communication.exchanges import collectives_among, other_pairs
from autograde.rubric.communication.traffic import traffic
from autograde.verdicts.collectives import only
from autograde.verdicts.judged import Run
from course.watch.notes import note_of, without_notes

finding = Findings("""
messages-counted 1
Rank {rank} of {size} {what} {actual} messages for {due} micro-batches. One for each is due{none}.

outputs-sent-at-the-end 1
The numbers are right. But rank {rank} begins with its {way} pass {number} before it has sent what came of the one
before it. The next stage waits meanwhile: nothing runs at once, and this is no pipeline.

inputs-awaited-at-once 1
The numbers are right. But rank {rank} has waited for {count} messages before it begins its {way} pass {number}. It
could have begun with the first that came: meanwhile the stages behind it have nothing to do, and nothing runs at once.

not-contiguous 1.5
{who} cannot send what a stage gave: torch sends tensors only that are contiguous, and a stage may give others.

receives-not-contiguous 1.5
{who} cannot receive into the tensor that it gives to torch, which is not contiguous. What a stage gives may lie in
memory in another order than its numbers are read, and a tensor made like it does, too.

message-too-long 3
A message is longer than the memory of the tensor into which {who} receives it, and gloo ends the process. Nobody
compares shapes and dtypes: how many bytes does a number take here, and how many numbers are there?
""")

ABORTED = -6  # exit status of a process that ended itself by SIGABRT


def cannot_go_on(run: Run) -> list[Finding]:
    """What it means that a rank has an error, died or waits for ever in the middle of its messages."""
    if run.state == "hang":
        found = collective_among(messages_of(run.of_call(run.reached)), run.report)
        return [hiding(each, *finding.some("message-too-long")) for each in found]  # nobody knows what was to come
    if run.state == "rank-died":
        died = [rank["rank"] for rank in run.ranks if rank["code"] == ABORTED]
        kinds = {event["kind"] for log in run.of_call(run.reached) for event in log}
        if died and kinds <= {"send", "recv", "probe"}:
            return [finding("message-too-long", run.report, who=f"rank {died[0]}")]
    return not_contiguous(run) if run.state == "raised" else []


def not_contiguous(run: Run) -> list[Finding]:
    """A finding for a tensor that could not be sent, or received into."""
    for rank in run.ranks:
        error = rank["error"] or {}
        if "contiguous" in error.get("message", ""):
            key = "receives-not-contiguous" if "recv" in (error["source"] or "") else "not-contiguous"
            return [finding(key, run.report, who=f"Rank {rank['rank']}")]
    return []


def messages_of(logs: Sequence[Sequence[dict]]) -> list[list[dict]]:
    """The events without probes and notes, by rank."""
    return [[event for event in without_notes(log) if event["kind"] != "probe"] for log in logs]


def collective_among(events: Sequence[Sequence[dict]], report: str = "") -> list[Finding]:
    """A finding if there is a call that is no message of one rank to another. events: by rank, without notes."""
    return collectives_among(events, "a stage and its neighbours", report)


def misdirected(logs: Sequence[Sequence[dict]], way: str, count: int) -> list[Finding]:
    """What is wrong with the messages of a call, whose order is up to `late`. way: "forward" or "backward"."""
    size, step = len(logs), 1 if way == "forward" else -1
    events = messages_of(logs)
    if found := only("torch", events):
        return found
    if found := collective_among(events):
        return found
    where = "after" if step == 1 else "before"
    words = f"neighbours, in the {way} passes each rank to the one {where} it,"
    if found := other_pairs(traffic(events), [(rank, rank + step) for rank in range(size)], words):
        return found[:1]
    for rank, log in enumerate(events):
        for kind, peer, what in ("send", rank + step, "sends"), ("recv", rank - step, "receives"):
            there, actual = 0 <= peer < size, sum(event["kind"] == kind for event in log)
            if actual != count * there:
                none = "" if there else ", and this rank has nobody to exchange one with there"
                about = {"rank": rank, "size": size, "what": what, "actual": actual, "due": count}
                return [finding("messages-counted", none=none, **about)]
    return []


def late(logs: Sequence[Sequence[dict]], way: str) -> list[Finding]:
    """A finding if a rank begins a pass before it has sent what came of the one before it, or only after it has waited
    for what comes later. logs: with notes."""
    size = len(logs)
    last = size - 1 if way == "forward" else 0
    for rank, log in enumerate(logs):
        noted = sent = 0
        ends = [event["end"] for event in log if event["kind"] == "recv" and event["end"] is not None]
        for event in log:
            begins = (note_of(event) or "").startswith(way)
            if begins and (count := sum(end < event["start"] for end in ends)) > noted + 1:
                return [finding("inputs-awaited-at-once", rank=rank, way=way, number=noted, count=count)]
            if (note_of(event) or "").startswith(way):
                if rank != last and sent < noted:
                    return [finding("outputs-sent-at-the-end", rank=rank, way=way, number=noted)]
                noted += 1
            elif event["kind"] == "send":
                sent += 1
    return []
