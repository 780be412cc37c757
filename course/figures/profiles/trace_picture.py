"""A profile of all ranks as a timeline: what each computes, and below it what is under way between them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.profiles.spans import Span

PARTS = {"loading": COLOURS[4], "forward": COLOURS[5], "backward": COLOURS[2], "optimizer": COLOURS[3]}
COMPUTE, COMMUNICATION = COLOURS[0], COLOURS[1]
ROW, AROUND = 0.62, 1.5  # inches: a rank's height; title, ticks, label and legend
PART, THIN, SENT = 0.42, 0.14, 0.22  # heights in rows: of a part, of the operations in it, of communication


@on_both_grounds
def trace_picture(profile: Sequence[Sequence[Span]], title: str = "One step", *, ground: Ground) -> Picture:
    """A row for each rank.

    profile: by rank, its spans, on one clock; those of `course.profiles.recording.record_steps`. In a row, the wide
    bars are marked parts of a step, the dark ones within them operations, and the bars below them communication, side
    by side if several are under way.
    """
    steps = [span for spans in profile for span in spans if span.kind == "step"]
    zero, edge = min(span.start for span in steps), max(span.end for span in steps)
    alt = f"{title}. " + " ".join(in_words(rank, spans, zero) for rank, spans in enumerate(profile))
    figure, axes = new_figure(6.6, AROUND + ROW * len(profile), alt=alt, ground=ground)
    for rank, spans in enumerate(profile):
        draw_rank(axes, -rank, [span for span in spans if span.kind != "step"], zero)
    axes.set(xlim=(0, 1e3 * (edge - zero) * 1.01), ylim=(-len(profile) + 0.45, 0.5), xlabel="milliseconds")
    axes.set_yticks([-rank for rank in range(len(profile))], [f"rank {rank}" for rank in range(len(profile))])
    axes.tick_params(axis="y", length=0)
    axes.set_title(title)
    found = {span.name for spans in profile for span in spans}
    entries = [Patch(color=colour, label=name) for name, colour in PARTS.items() if name in found]
    entries += [Patch(color=COMPUTE, label="operation"), Patch(color=COMMUNICATION, label="all-reduce")]
    figure.legend(handles=entries, loc="outside lower center", ncols=3, labelcolor=ground.ink)
    quiet_grid(axes, "x")
    return figure


def draw_rank(axes: Axes, row: float, spans: Sequence[Span], zero: float) -> None:
    """Draw the bars of a rank. zero: where the time axis begins, in seconds."""

    def bars(which: Sequence[Span], bottom: float, height: float, colour: str, name: str) -> None:
        places = [(1e3 * (span.start - zero), 1e3 * span.seconds) for span in which]
        axes.broken_barh(places, (row + bottom, height), facecolors=colour, gid=name)

    for name, colour in PARTS.items():
        bars([span for span in spans if span.name == name], -0.04, PART, colour, name)
    operations = [span for span in spans if span.kind == "compute"]
    bars(operations, -0.04 + (PART - THIN) / 2, THIN, COMPUTE, "compute")
    sent = [span for span in spans if span.kind == "communication"]
    lanes: list[float] = []
    placed = []
    for span in sent:
        lane = next((lane for lane, end in enumerate(lanes) if end <= span.start), len(lanes))
        lanes[lane : lane + 1] = [span.end]
        placed.append((lane, span))
    for lane in range(len(lanes)):
        height = SENT / len(lanes)
        own = [span for place, span in placed if place == lane]
        bars(own, -0.08 - (lane + 1) * height, 0.85 * height, COMMUNICATION, "communication")


def in_words(rank: int, spans: Sequence[Span], zero: float) -> str:
    """What a row shows."""
    parts = [
        f"{span.name} {1e3 * (span.start - zero):.0f} to {1e3 * (span.end - zero):.0f} ms"
        for span in spans
        if span.name in PARTS or span.kind == "communication"
    ]
    return f"Rank {rank}: {', '.join(parts)}."
