"""Verdicts on calls of `save_checkpoint`, which `autograde.probes.checkpoint_calls` makes in a watched folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, hiding
from autograde.verdicts.checkpoints import always_whole, file_mistakes, short, who_writes
from autograde.verdicts.checkpoints import finding as of_checkpoints
from autograde.verdicts.judged import Run
from course.world.report import name_ranks

finding = Findings("""
barrier-on-rank-0 3
A deadlock: rank 0 waits in a collective that {who} never called. Which ranks reach that line?

barrier-without-rank-0 3
A deadlock: {who} waited for rank 0, which never made that call. Which ranks reach that line?

other-disk 1.5
The file is written somewhere else and then moved here. Folders for checkpoints are often on a disk of their own, and
a file cannot be moved from one disk to another in a single step: {error}

left-behind 0.5
After a call there is more in the folder than the checkpoint: {names}.

leftovers-pile-up 0.5
When a rank is killed while it writes, {names} stays behind, and it is still there after the next call. Every kill adds
another one.

returns-too-early 1
{who} returned before the new file was there. What does a rank find there that reads the file at once?
""")


def unfinished_saving(run: Run) -> list[Finding]:
    """Rank 0 makes other calls than the rest, or the file was to be moved too far."""
    if "cross-device" in run.detail:
        unseen = of_checkpoints.some("every-rank-writes", "model-missing")
        return [hiding(finding("other-disk", run.report, error=short(run.detail)), *unseen)]
    errors = [rank["error"] or {} for rank in run.ranks]
    if any(each.get("type") == "FileNotFoundError" and " -> " in each["message"] for each in errors):
        every = replace(of_checkpoints("every-rank-writes", size=len(run.ranks)), report=run.report)
        return [hiding(every, *of_checkpoints.some("model-missing"))]  # of several that move one file, one comes first
    if run.state != "hang":
        return []
    calls = [sum(event["library"] == "torch" for event in rank["events"]) for rank in run.ranks]
    if fewer := [rank for rank, number in enumerate(calls) if number < calls[0]]:
        return [finding("barrier-on-rank-0", run.report, who=name_ranks(fewer))]
    more = [rank for rank, number in enumerate(calls) if number > calls[0]]
    return [finding("barrier-without-rank-0", run.report, who=name_ranks(more))] if more else []


def is_written(call: dict) -> bool:
    """Whether there is a new file after a call. call: of rank 0."""
    return call["content"] is not None and call["content"]["there"] and call["before"] != call["after"]


def saving_mistakes(
    number: int, calls: Sequence[dict], local: Sequence[int], expected: dict
) -> Iterator[Finding | Diagnosis]:
    """What is wrong with call `number`. calls: of each rank. local: its number on its node. expected: what is in the
    file, see `content_mistakes`."""
    before, after, file = (calls[0][name] for name in ("before", "after", "content"))
    writers = [rank for rank, call in enumerate(calls) if call["touched"]]
    yield from who_writes(writers, local)
    if not is_written(calls[0]):
        yield of_checkpoints("nothing-written")
        return
    if writers in ([], [0]):
        yield from always_whole([moment["file"] for moment in calls[0]["moments"]], before, after)
    yield from file_mistakes(file, expected)
    if early := [rank for rank, call in enumerate(calls) if call["returned"] != after]:
        yield finding("returns-too-early", who=name_ranks(early).capitalize())
    if writers in ([], [0]):  # what other ranks leave there is theirs because they write at all
        yield from behind(number, calls[0]["left"])


def behind(number: int, left: Sequence[str]) -> Iterator[Diagnosis]:
    """What is in the folder after call `number` besides the checkpoint: told once, if no kill is needed for it."""
    if left:
        keys = ("leftovers-pile-up", "left-behind") if number else ("left-behind",)
        explained = tuple(finding(key, names=", ".join(left)) for key in keys)
        yield Diagnosis("files besides the checkpoint", explained, otherwise=explained[0])
