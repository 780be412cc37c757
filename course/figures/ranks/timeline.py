"""What each rank did, as a timeline: one row per rank, one bar per communication call, one arrow per message."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course.figures.ranks.call_colours import FAMILIES, Groups, colour, group_name
from course.figures.ranks.message_arrows import DASHES, draw_messages
from course.figures.ranks.moments import Moments
from course.figures.ranks.waits import in_words
from course.figures.style import Ground, Picture, new_figure, on_both_grounds
from course.watch.events import Event
from course.watch.messages import Message, messages
from course.watch.notes import without_notes

ROW, ROWS, THINNEST = 0.46, 6.0, 0.2  # inches: a row's height, that of all rows from which on they get thinner
AROUND = 1.1  # inches: title, ticks and label
ENTRY = 0.2  # inches: a line of the legend
THICKNESS = 0.6  # of a row's bars, in rows
BETWEEN = 0.5  # height of the time between calls, in bars
NARROWEST = 1 / 500  # of a bar, as part of the time axis
LANES = 6  # side by side in a row, at most
NAMED = 4  # groups in the legend, at most
WIDTH = 22  # of a line of the legend, in letters
LINE = 100  # of one below the axes
HATCH = "////"


@dataclass(frozen=True)
class Run:
    """What is drawn. edge: end of the time axis in seconds. scale: from seconds to the axis's unit. since: what its
    times count from."""

    events: Sequence[Sequence[Event]]
    moments: Moments
    sent: Sequence[Message]
    groups: Groups
    edge: float
    scale: float
    since: str

    @property
    def calls(self) -> list[Event]:
        """The events of all ranks."""
        return [event for rank in self.events for event in rank]


@on_both_grounds
def timeline(
    events: Sequence[Sequence[Event]],
    title: str = "What each rank did",
    seconds: float | None = None,
    *,
    since_barrier: int = 0,
    ground: Ground,
) -> Picture:
    """Draw the communication of a run.

    events: by rank, as in `course.world.World.events`. A bar is the time in which a rank is in a call. If the operation
    goes on after the call, a thin line is the time until the rank waits for it, and the bar that in which it waits. A
    call that never ended reaches to the right edge, and is hatched. Calls on fewer ranks than all have another shade.
    The time before and between a rank's calls, in which it computes or sleeps, is a pale bar; what it does after the
    last one is not known.
    Notes, see `course.watch.notes`, are signs above the bars. Probes that found nothing are left out.
    seconds: how long the run took, to be shown whole; None: as far as its last event.
    since_barrier: the time axis begins at each rank's barrier of this number, counted from 1, and nothing before is
    drawn; 0: when the run began. Raises ValueError if a rank has left no such barrier.
    """
    if since_barrier:
        events = after_barrier(events, since_barrier)
    moments = Moments(events)
    events = [[event for event in without_notes(rank) if event["times"] is None] for rank in events]
    sent = messages(events)
    calls, ranks = sum(map(len, events)), len(events)
    alt = f"Timeline of {calls} communication call{'s' * (calls != 1)} on {ranks} rank{'s' * (ranks != 1)}."
    words = in_words(events, sent)
    alt += f" {words}" * bool(words) + moments.words()
    times = [event[when] or 0.0 for rank in events for event in rank for when in ("start", "waited", "end")]
    edge = max(max(times, default=1.0) * 1.05 + 1e-6, seconds or 0.0)
    since = "since the barrier" if since_barrier else "since the run began"
    run = Run(events, moments, sent, Groups(events), edge, 1e3 if edge < 1.0 else 1.0, since)
    return draw(run, title, alt, words, ground)


def after_barrier(events: Sequence[Sequence[Event]], number: int) -> list[list[Event]]:
    """The events of each rank after its barrier of this number, timed from when the first rank left it. Raises
    ValueError."""
    left = []
    for rank, of_rank in enumerate(events):
        ends = [event["end"] for event in of_rank if event["kind"] == "barrier" and event["end"] is not None]
        if len(ends) < number:
            raise ValueError(f"rank {rank} has left {len(ends)} barriers, and not {number}")
        left.append(sorted(ends)[number - 1])
    later = [[event for event in own if event["start"] >= end] for own, end in zip(events, left, strict=True)]
    return [[moved(event, min(left)) for event in own] for own in later]


def moved(event: Event, begin: float) -> Event:
    """The event with its times counted from `begin`, in seconds."""
    return event | {when: event[when] - begin for when in ("start", "waited", "end") if event[when] is not None}


def draw(run: Run, title: str, alt: str, words: str, ground: Ground) -> Picture:
    """The figure of a run. words: who waits, told below it."""
    rows, ink = max(1, len(run.events)), ground.ink
    between = [gaps(rank, run.edge) for rank in run.events]
    handles = list(legend(run, ink))
    if any(between):
        handles.append(Patch(color=ground.pale, label="between calls"))
    lines = sum(1 + handle.get_label().count("\n") for handle in handles)
    rows_height = rows * max(THINNEST, min(ROW, ROWS / rows))
    told = textwrap.wrap(words, LINE)
    height = AROUND + max(rows_height, ENTRY * lines - AROUND / 2)
    below = ENTRY * len(told)
    height += below
    figure, axes = new_figure(width=7.6, height=height, alt=alt, ground=ground)
    thickness = THICKNESS * rows_height / (height - AROUND - below)  # no thicker where the legend makes rows high
    for row, rank in enumerate(run.events):
        draw_between(axes, row, between[row], run.scale, BETWEEN * thickness, ground.pale)
        draw_rank(axes, row, rank, run, thickness, ink)
        run.moments.draw(axes, row, run.scale, thickness, ink)
        if not rank and any(run.events):
            axes.text(0.01, row, "calls nothing", transform=axes.get_yaxis_transform(), va="center", color=ink)
    draw_messages(axes, run.sent, run.edge, run.scale, thickness, ink)
    axes.set_yticks(range(len(run.events)), [f"rank {row}" for row in range(len(run.events))])
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlim(0.0, run.edge * run.scale)
    axes.set_xlabel(f"time {run.since} [{'ms' if run.scale > 1 else 's'}]")
    axes.set_title(title)
    figure.supxlabel("\n".join(told), x=0.02, ha="left", fontsize=9.5)
    if handles:
        axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def gaps(events: Sequence[Event], edge: float) -> list[tuple[float, float]]:
    """When a rank is in no call, from the run's begin to the end of its last call. What goes on by itself is none."""
    found, free = [], 0.0
    waits = [event for event in events if event["waited"] is not None]
    for event in sorted(waits, key=lambda event: event["waited"]):
        if event["waited"] - free > NARROWEST * edge:
            found.append((free, event["waited"]))
        free = max(free, edge if event["end"] is None else event["end"])
    return found


def draw_between(
    axes: Axes, row: int, between: Sequence[tuple[float, float]], scale: float, height: float, pale: str
) -> None:
    """Draw the times in which a rank is in no call."""
    spans = [(begin * scale, (end - begin) * scale) for begin, end in between]
    bars = axes.broken_barh(spans, (row - height / 2, height), color=pale, linewidth=0, zorder=1)
    bars.set_gid("between calls")


def draw_rank(axes: Axes, row: int, events: Sequence[Event], run: Run, thickness: float, ink: str) -> None:
    """Draw the calls of a rank: three collections of artists, as there may be ten thousand."""
    done, unfinished, lines, forgotten = [], [], [], []
    for event, lane, of in in_lanes(events, run.edge):
        height = thickness / of
        top = row - thickness / 2 + lane * height
        wait, end = event["waited"], event["end"]
        begin = next(time for time in (wait, end, run.edge) if time is not None)
        shade, full = run.groups.shade(event), colour(event["kind"])
        middle = top + height / 2
        if begin > event["start"]:
            lines.append(([(event["start"] * run.scale, middle), (begin * run.scale, middle)], full))
        if end is None and wait is None:
            forgotten.append((middle, full))
            continue
        stop = max(run.edge if end is None else end, begin + NARROWEST * run.edge)
        bottom = top + height * (1.0 if of == 1 else 0.9)
        corners = [(time * run.scale, y) for time, y in ((begin, top), (begin, bottom), (stop, bottom), (stop, top))]
        (unfinished if end is None else done).append((corners, shade, full))
    for bars, hatch in ((done, None), (unfinished, HATCH)):
        shapes, shades, edges = zip(*bars, strict=True) if bars else ((), (), ())
        drawn = PolyCollection(shapes, facecolors=shades, edgecolors=ink if hatch else edges, hatch=hatch, zorder=3)
        drawn.set(gid="unfinished" if hatch else "calls", linewidth=0.6)
        axes.add_collection(drawn, autolim=False)
    segments, colours = zip(*lines, strict=True) if lines else ((), ())
    thin = LineCollection(segments, colors=colours, linewidths=1.4, capstyle="butt", zorder=2, gid="under way")
    axes.add_collection(thin, autolim=False)
    for middle, full in forgotten:
        axes.plot(run.edge * run.scale, middle, **open_end(full), clip_on=False, gid="end not seen")


def open_end(colour: str) -> dict:
    """The look of the end of an operation that nobody waited for."""
    return {"color": colour, "marker": "o", "markersize": 5, "markerfacecolor": "none", "linewidth": 1.4}


def in_lanes(events: Sequence[Event], edge: float) -> Iterator[tuple[Event, int, int]]:
    """The calls of a rank, each with its lane in the row, and how many there are. Calls at the same time lie side by
    side, as long as there are lanes enough."""
    together: list[tuple[Event, int]] = []
    ends: list[float] = []
    for event in sorted(events, key=lambda event: event["start"]):
        start, end = event["start"], edge if event["end"] is None else event["end"]
        if ends and start >= max(ends):
            yield from ((other, lane, len(ends)) for other, lane in together)
            together, ends = [], []
        first = min(range(len(ends)), key=lambda lane: (max(ends[lane], start), lane), default=0)
        if len(ends) < LANES and (not ends or ends[first] > start):
            first = len(ends)
            ends.append(end)
        ends[first] = max(ends[first], end)
        together.append((event, first))
    yield from ((other, lane, len(ends)) for other, lane in together)


def legend(run: Run, ink: str) -> Iterator[Artist]:
    """What occurs in a run: kinds of call, groups of ranks, calls that did not end, messages."""
    calls = run.calls
    kinds = {call["kind"] for call in calls}
    for family in FAMILIES:
        if kinds.intersection(family):
            names = ", ".join(kind for kind in family if kind in kinds)
            yield Patch(color=colour(family[0]), label=textwrap.fill(names, WIDTH))
    for group, call in [*run.groups.first.items()][:NAMED]:
        shades = {"facecolor": run.groups.shade(call), "edgecolor": colour(call["kind"])}
        yield Patch(**shades, label=textwrap.fill(group_name(group), WIDTH))
    if len(run.groups.first) > NAMED:
        yield Patch(alpha=0, label="…")
    under_way = {colour(call["kind"]) for call in calls if call["waited"] != call["start"]}
    if under_way:
        drawn = under_way.pop() if len(under_way) == 1 else ink
        yield Line2D([], [], color=drawn, linewidth=1.4, label="under way")
    if any(call["waited"] is None and call["end"] is None for call in calls):
        yield Line2D([], [], **open_end(ink), label="end not seen")
    if any(call["waited"] is not None and call["end"] is None for call in calls):
        yield Patch(facecolor="none", edgecolor=ink, hatch=HATCH, label="never finished")
    if any(message.arrived is not None for message in run.sent):
        yield Line2D([], [], color=ink, linewidth=1, marker=">", markersize=4, label="message")
    if any(message.arrived is None for message in run.sent):
        yield Line2D([], [], color=ink, linewidth=1.2, linestyle=DASHES, label="message not received")
    yield from run.moments.legend(ink)
