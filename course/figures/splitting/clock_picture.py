"""A pipeline's step by the clock: the passes of each stage, the messages between them, and how long each is idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course.figures.contrast import ink_on
from course.figures.ranks.message_arrows import draw_messages
from course.figures.splitting.schedules import bubble
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.watch.events import Event
from course.watch.messages import messages

Timed = tuple[str, float, float]  # "F" or "B", begin and end in seconds
FILLS = {"F": COLOURS[2], "B": COLOURS[5]}
HEIGHT = 0.6  # of a bar, in rows
NUMBERED = 1 / 45  # of a bar with a number in it, at least, as part of the time axis


@on_both_grounds
def clock_picture(passes: Sequence[Sequence[Timed]], events: Sequence[Sequence[Event]], *, ground: Ground) -> Picture:
    """Left: the passes of each rank and their messages. Right: how long it was idle, and how long it should be.

    passes: by rank, those of a step in their order, in seconds since this rank left its last barrier. events: by rank,
    those of the same run, as `course.world.World.events` has them. Raises ValueError for a rank without a barrier, or
    if there is no pass at all.
    """
    left = [left_barrier(rank, log) for rank, log in enumerate(events)]
    spans = [[(kind, at + b, at + e) for kind, b, e in own] for at, own in zip(left, passes, strict=True)]
    zero, end = bounds(spans)
    sent = [
        replace(each, sent=each.sent - zero, arrived=None if each.arrived is None else each.arrived - zero)
        for each in messages(events)
        if each.sent >= left[each.source]
    ]
    micro_batches = max(sum(kind == "F" for kind, _, _ in own) for own in spans)
    idle, due = idle_shares(spans), bubble(len(spans), micro_batches)
    told = ", ".join(f"rank {rank} {share:.0%}" for rank, share in enumerate(idle))
    alt = (
        f"A step of {micro_batches} micro-batches on {len(spans)} ranks took {1e3 * (end - zero):.0f} ms, with "
        f"{len(sent)} messages. Part of the time in which they were idle: {told}; by the formula {due:.0%}."
    )
    figure, (clock, shares) = new_figure(8.9, 1.7 + 0.46 * len(spans), columns=(4, 1), alt=alt, ground=ground)
    for rank, own in enumerate(spans):
        clock.barh(rank, 1e3 * (end - zero), HEIGHT, color=ground.pale)
        draw_passes(clock, rank, [(kind, b - zero, e - zero) for kind, b, e in own], end - zero, ground)
    # An arrow begins and ends at the side of a bar.
    draw_messages(clock, sent, end - zero, 1e3, HEIGHT, ground.ink)
    clock.set(xlim=(0, 1e3 * (end - zero)), ylim=(len(spans) - 0.5, -0.5), title="Your pipeline by the clock")
    clock.set_xlabel("time since the step began [ms]")
    clock.set_yticks(range(len(spans)), [f"rank {rank}" for rank in range(len(spans))])
    clock.tick_params(axis="y", length=0)
    draw_shares(shares, idle, due, ground)
    handles = [Patch(color=FILLS[kind], label=name) for kind, name in (("F", "forward"), ("B", "backward"))]
    handles += [Patch(color=ground.pale, label="idle")]
    handles += [Line2D([], [], color=ground.ink, linewidth=1, marker=">", markersize=4, label="message")] * bool(sent)
    formula = f"(p - 1) / (M + p - 1) = {due:.0%}"
    handles += [Line2D([], [], color=ground.ink, linewidth=1.4, linestyle=(0, (4, 3)), label=formula)]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def idle_shares(passes: Sequence[Sequence[Timed]]) -> list[float]:
    """By rank, the part of a step in which it makes no pass.

    passes: by rank. The step is from the begin of the first pass of all ranks to the end of the last one. Raises
    ValueError if there is none.
    """
    zero, end = bounds(passes)
    return [1 - sum(e - b for _, b, e in own) / (end - zero) for own in passes]


def bounds(passes: Sequence[Sequence[Timed]]) -> tuple[float, float]:
    """When the first pass begins, and the last one ends."""
    spans = [(begin, end) for own in passes for _, begin, end in own]
    if not spans:
        raise ValueError("no rank has made a pass")
    return min(begin for begin, _ in spans), max(end for _, end in spans)


def left_barrier(rank: int, events: Sequence[Event]) -> float:
    """When a rank left its last barrier, in seconds since the run began."""
    ends = [event["end"] for event in events if event["kind"] == "barrier" and event["end"] is not None]
    if not ends:
        raise ValueError(f"rank {rank} was at no barrier, where its clock begins")
    return max(ends)


def draw_passes(axes: Axes, rank: int, spans: Sequence[Timed], seconds: float, ground: Ground) -> None:
    """The passes of a rank, with the numbers of their micro-batches where there is room. seconds: of the step."""
    seen = dict.fromkeys(FILLS, 0)
    for kind, begin, end in spans:
        width = end - begin
        axes.barh(
            rank, 1e3 * width, HEIGHT, left=1e3 * begin, facecolor=FILLS[kind], edgecolor=ground.paper, linewidth=0.7
        )
        if width > NUMBERED * seconds:
            middle = {"ha": "center", "va": "center_baseline", "fontsize": 8}
            axes.text(5e2 * (begin + end), rank, seen[kind], color=ink_on(FILLS[kind]), **middle)
        seen[kind] += 1


def draw_shares(axes: Axes, idle: Sequence[float], due: float, ground: Ground) -> None:
    """How long each rank was idle, and a line where the formula is."""
    axes.barh(range(len(idle)), [100 * share for share in idle], HEIGHT, color=ground.pale)
    most = 100 * max(*idle, due)
    for rank, share in enumerate(idle):
        axes.text(1.5, rank, f"{share:.0%}", va="center_baseline", color=ground.ink)
    axes.axvline(100 * due, color=ground.ink, linewidth=1.4, linestyle=(0, (4, 3)))
    axes.set(xlim=(0, max(1.15 * most, 10)), ylim=(len(idle) - 0.5, -0.5), yticks=[], title="Idle, measured")
    axes.set_xlabel("percent of the step")
    axes.xaxis.get_major_locator().set_params(nbins=4)
    quiet_grid(axes, "x")
