"""Writes spans of all ranks in one file that https://ui.perfetto.dev and chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from course.profiles.spans import Span

THREAD = 0  # where a rank computes; collectives that are under way at the same time have threads of their own above


def chrome_trace(profile: Sequence[Sequence[Span]]) -> dict:
    """The spans of all ranks in the Trace Event Format, as `json` writes it.

    profile: by rank, its spans. In the trace, a rank is a process (`pid`). What it does itself is its thread 0; its
    communication is in threads from 1 on, as many as are needed so that no two spans of one overlap. Times are in
    microseconds.
    """
    events: list[dict] = []
    for rank, spans in enumerate(profile):
        events.append(named("process_name", rank, THREAD, f"rank {rank}"))
        events.append(named("thread_name", rank, THREAD, "computing"))
        free: list[float] = []  # by thread of communication, when it is free again
        for span in sorted(spans, key=lambda span: (span.start, -span.end)):
            thread = THREAD
            if span.kind == "communication":
                lane = next((lane for lane, end in enumerate(free) if end <= span.start), len(free))
                free[lane : lane + 1] = [span.end]
                thread = THREAD + 1 + lane
            times = {"ts": 1e6 * span.start, "dur": 1e6 * span.seconds}
            events.append({"name": span.name, "cat": span.kind, "ph": "X", **times, "pid": rank, "tid": thread})
        events += [named("thread_name", rank, THREAD + 1 + lane, "communication") for lane in range(len(free))]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def named(what: str, rank: int, thread: int, name: str) -> dict:
    """The entry that gives a rank or one of its threads a name."""
    return {"name": what, "ph": "M", "pid": rank, "tid": thread, "args": {"name": name}}


def save_chrome_trace(profile: Sequence[Sequence[Span]], path: str | Path) -> None:
    """Write `chrome_trace(profile)` to a file. A rank without spans is an empty process."""
    Path(path).write_text(json.dumps(chrome_trace(profile)), encoding="utf-8")
