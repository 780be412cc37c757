"""What each rank did, as a timeline: one row per rank, one bar per communication call."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.style import COLOURS, INK, Picture, look, new_figure
from course.watch.events import Event

# Kinds of call that share a colour, the same in every figure of the course.
FAMILIES = (
    ("allreduce",),
    ("broadcast",),
    ("gather", "allgather"),
    ("reduce", "reduce_scatter", "scan"),
    ("scatter", "alltoall"),
    ("barrier",),
    ("send", "recv", "sendrecv", "other"),
)


def timeline(
    events: Sequence[Sequence[Event]], title: str = "What each rank did", seconds: float | None = None
) -> Picture:
    """Draw the communication of a run.

    events: by rank, as in `course.world.World.events`. A call that never ended reaches to the right edge, and is
    hatched. seconds: how long the run took, to be shown whole; None: as far as its last event.
    """
    calls = [event for rank in events for event in rank]
    alt = f"Timeline of {len(calls)} communication calls on {len(events)} ranks."
    figure, axes = new_figure(width=7.6, height=1.4 + 0.42 * max(1, len(events)), alt=alt)
    last = max((event["end"] or event["start"] for event in calls), default=1.0)
    edge = max(last * 1.05 + 1e-6, seconds or 0.0)
    scale, unit = (1e3, "ms") if edge < 1.0 else (1.0, "s")
    with look():
        for row, rank in enumerate(events):
            for event in rank:
                draw_call(axes, row, event, edge, scale)
        axes.set_yticks(range(len(events)), [f"rank {row}" for row in range(len(events))])
        axes.set_ylim(len(events) - 0.5, -0.5)
        axes.set_xlim(0.0, edge * scale)
        axes.set_xlabel(f"time since the run began [{unit}]")
        axes.set_title(title)
        legend(axes, calls)
    return figure


def draw_call(axes: Axes, row: int, event: Event, edge: float, scale: float) -> None:
    """Draw one bar. edge: end of unfinished calls, in seconds. scale: from seconds to the axis's unit."""
    open_end = event["end"] is None
    end = edge if open_end else event["end"]
    axes.barh(
        row,
        max(end - event["start"], edge / 400) * scale,
        left=event["start"] * scale,
        height=0.6,
        color=colour(event["kind"]),
        edgecolor=INK if open_end else colour(event["kind"]),
        hatch="////" if open_end else None,
        linewidth=0.8,
    )


def colour(kind: str) -> str:
    """The colour of a kind of call."""
    return next(colour for colour, family in zip(COLOURS, FAMILIES, strict=True) if kind in family)


def legend(axes: Axes, calls: Sequence[Event]) -> None:
    """Name the kinds of call that occur, and the unfinished ones, beside the rows."""
    kinds = {call["kind"] for call in calls}
    patches = [
        Patch(color=colour(family[0]), label=", ".join(kind for kind in family if kind in kinds))
        for family in FAMILIES
        if kinds.intersection(family)
    ]
    if any(call["end"] is None for call in calls):
        patches.append(Patch(facecolor="none", edgecolor=INK, hatch="////", label="never finished"))
    if patches:
        axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
