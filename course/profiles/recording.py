"""Records steps of a training under `torch.profiler`, on the rank that calls it."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from course.profiles.spans import Kind, Span
from course.watch.recorder import unwatched

STEP, ZERO = "step", "zero of the clock"
MARKED: dict[str, Kind] = {STEP: "step", "loading": "loading", "wait": "wait"}  # by the name of a mark; else "part"
RUNS, LAUNCHES = "gloo:", "c10d::"  # how names of running collectives begin, and of calls that hand one over


def record_steps(step: Callable[[int], object], steps: int, warm_up: int = 2) -> list[Span]:
    """Make `warm_up` steps, then `steps` more under the profiler, and return what this rank did in those.

    step(number) makes one step of the training; the numbers count from 0, those of the warm-up included. It marks its
    parts by ``with record_function(name)`` of `torch.profiler`. The names "loading" and "wait" are kinds of their own,
    see `course.profiles.spans.Span`; all others are of kind "part". The steps themselves are marked here. Two steps of
    warm-up are the least with DistributedDataParallel, which cuts its buckets anew in the second.

    All ranks of the process group call it alike. Times are in seconds since the last of them was ready to begin the
    first recorded step, by this machine's clock; so ranks on one machine have the same clock, and those on several
    have clocks that agree as well as the machines' do. Without a process group it is the time of this process alone.

    Tensors are those of the CPU, and collectives those of gloo. Spans are sorted by their start, and a span comes
    before those within it. What other threads than the one that calls `step` have computed is left out.
    """
    for number in range(warm_up):
        step(number)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        zero = agreed_zero()
        with record_function(ZERO):
            now = time.time_ns()
        for number in range(warm_up, warm_up + steps):
            with record_function(STEP):
                step(number)
    events = list(recorded.events())
    mark = next(event for event in events if event.name == ZERO)
    spans = [
        Span(
            kind_of(event),
            shifted(event.time_range.start, mark, now - zero),
            shifted(event.time_range.end, mark, now - zero),
            event.name,
        )
        for event in events
        if event.time_range.start > mark.time_range.start
        and (event.thread == mark.thread or event.name.startswith(RUNS))
    ]
    return sorted(spans, key=lambda span: (span.start, -span.end))


def agreed_zero() -> int:
    """Wait for all ranks. Returns when the last of them came, in nanoseconds since 1970."""
    came = torch.tensor([time.time_ns()])
    if dist.is_initialized():
        group = dist.group.WORLD
        work = unwatched(type(group).allreduce)(group, [came], dist.ReduceOp.MAX)
        unwatched(dist.Work.wait)(work)
    return int(came)


def kind_of(event: FunctionEvent) -> Kind:
    """The kind of a span that an event of the profiler becomes."""
    if event.name.startswith(RUNS):
        return "communication"
    if event.name.startswith(LAUNCHES):
        return "launch"
    if event.is_user_annotation:
        return MARKED.get(event.name, "part")
    return "compute"


def shifted(moment: float, mark: FunctionEvent, late: int) -> float:
    """A moment in seconds since the agreed zero. mark: begins `late` nanoseconds after that."""
    return round((moment - mark.time_range.start) / 1e6 + late / 1e9, 9)
