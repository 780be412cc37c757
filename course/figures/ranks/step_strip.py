"""One step of data-parallel training as a strip: forward, backward, all-reduce and update, on each rank over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.ranks.call_colours import colour
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.watch.events import Event

Span = tuple[float, float]  # when something begins and ends, in seconds

HEIGHT = 0.62  # of a bar, in rows
WAIT, REDUCE = "wait for the last rank", "all-reduce"
NARROWEST = 1 / 250  # of a bar, as part of the time axis


@on_both_grounds
def strip_picture(
    parts: Sequence[Sequence[Mapping[str, float]]], events: Sequence[Sequence[Event]], title: str, *, ground: Ground
) -> Picture:
    """Draw the fastest of some steps, a row for each rank.

    parts: by rank and step, how many seconds `forward`, `backward` and `update` took. events: by rank, those of the
    run, as `course.world.World.events` has them; the n-th all-reduce of a rank is that of its n-th step. It begins
    where the rank's backward pass ends, and its update begins where it ends. Raises ValueError if ranks have different
    numbers of steps, or of all-reduces.
    """
    reduces = [[event for event in rank if event["kind"] == "allreduce"] for rank in events]
    counts = {len(rank) for rank in [*parts, *reduces]}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(f"each rank has to have as many all-reduces as steps, and at least one: {sorted(counts)}")
    steps = [
        [spans(part, event) for part, event in zip(of_ranks, of_events, strict=True)]
        for of_ranks, of_events in zip(zip(*parts, strict=True), zip(*reduces, strict=True), strict=True)
    ]
    step = min(steps, key=duration)
    last = max(rank[REDUCE][0] for rank in step)
    zero, end = min(rank["forward"][0] for rank in step), max(rank["update"][1] for rank in step)
    came = [rank[REDUCE][0] for rank in step].index(last)
    alt = (
        f"{title}: forward, backward, all-reduce and update on {len(step)} ranks, {1e3 * (end - zero):.1f} ms in all. "
        f"Rank {came} is the last to call the all-reduce, {1e3 * (last - zero):.1f} ms after the step began."
    )
    figure, axes = new_figure(7.6, 1.5 + 0.42 * len(step), alt=alt, ground=ground)
    colours = {
        "forward": COLOURS[2],
        "backward": COLOURS[5],
        WAIT: ground.pale,
        REDUCE: colour("allreduce"),
        "update": COLOURS[4],
    }
    for row, rank in enumerate(step):
        begin, stop = rank[REDUCE]
        bars = {"forward": rank["forward"], "backward": rank["backward"], WAIT: (begin, min(last, stop))}
        bars |= {REDUCE: (min(last, stop), stop), "update": rank["update"]}
        draw_row(
            axes, row, {name: (start - zero, to - zero) for name, (start, to) in bars.items()}, end - zero, colours
        )
    axes.axvline(1e3 * (last - zero), color=ground.ink, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    axes.set_yticks(range(len(step)), [f"rank {row}" for row in range(len(step))])
    axes.set(ylim=(len(step) - 0.5, -0.5), xlim=(0, 1.01e3 * (end - zero)), title=title)
    axes.set_xlabel("time [ms]; dashed: the last rank calls the all-reduce")
    axes.tick_params(axis="y", length=0)
    quiet_grid(axes, "x")
    patches = [Patch(color=shade, label=name) for name, shade in colours.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure


def spans(part: Mapping[str, float], reduce: Event) -> dict[str, Span]:
    """When the parts of one rank's step begin and end. reduce: its all-reduce, which has ended."""
    start, end = reduce["start"], reduce["end"]
    if end is None:
        raise ValueError("an all-reduce of these steps never ended")
    back = start - part["backward"]
    return {
        "forward": (back - part["forward"], back),
        "backward": (back, start),
        REDUCE: (start, end),
        "update": (end, end + part["update"]),
    }


def duration(step: Sequence[Mapping[str, Span]]) -> float:
    """Seconds from the first rank's beginning to the last rank's end."""
    return max(rank["update"][1] for rank in step) - min(rank["forward"][0] for rank in step)


def draw_row(axes: Axes, row: int, bars: Mapping[str, Span], edge: float, colours: Mapping[str, str]) -> None:
    """Draw the bars of one rank, in milliseconds; one that is too narrow to be seen, a little wider."""
    for name, (start, end) in bars.items():
        if end > start:
            width = max(end - start, NARROWEST * edge)
            axes.barh(row, 1e3 * width, HEIGHT, left=1e3 * start, color=colours[name], zorder=3, gid=name)
