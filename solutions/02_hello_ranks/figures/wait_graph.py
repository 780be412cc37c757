"""Who waits for whom at the end of a run: the wait-for graph. A circle in it is a deadlock."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Circle, FancyArrowPatch

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.watch.events import Event

APART, RADIUS = 2.4, 0.36  # of two ranks; of a rank's circle


@on_both_grounds
def wait_graph(events: Sequence[Sequence[Event]], title: str, *, ground: Ground) -> Picture:
    """The ranks of a run, and an arrow from each that never came out of a call to every rank that it waits for.

    events: by rank, as in `course.world.report.Outcome.events`. An arrow says in which call, and on which line of the
    cell, the rank waits. For a receive from any rank, and a collective, there is an arrow to every other rank that is
    not in the same call.
    """
    waits = [
        (rank, other, label) for rank, of_rank in enumerate(events) for other, label in waits_of(rank, of_rank, events)
    ]
    told = [f"rank {rank} waits for rank {other} in {label.replace(chr(10), ', ')}" for rank, other, label in waits]
    alt = f"{title}. {'; '.join(told) or 'No rank waits'}."
    figure, axes = new_figure(min(7.6, 1.6 * len(events) + 2.6), 2.5, alt=alt, ground=ground)
    for rank in range(len(events)):
        fill = COLOURS[rank % len(COLOURS)]
        axes.add_patch(Circle((APART * rank, 0), RADIUS, facecolor=fill, edgecolor="none", zorder=3))
        axes.text(APART * rank, 0, str(rank), color=ink_on(fill), ha="center", va="center", fontweight="bold", zorder=4)
    for rank, other, label in waits:
        colour, up = COLOURS[rank % len(COLOURS)], 1 if other > rank else -1
        near, far = APART * rank + up * 0.3, APART * other - up * 0.3
        bend = {"connectionstyle": "arc3,rad=-0.42", "arrowstyle": "-|>", "mutation_scale": 16}
        ends = {"posA": (near, up * 0.26), "posB": (far, up * 0.26)}
        axes.add_patch(FancyArrowPatch(**ends, **bend, color=colour, linewidth=1.8))
        height = 0.26 + 0.25 * abs(far - near)
        axes.text((near + far) / 2, up * height, label, color=ground.ink, ha="center", va="bottom" if up > 0 else "top")
    axes.set(xlim=(-0.8, APART * (len(events) - 1) + 0.8), ylim=(-1.5, 1.5), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    axes.set_title(title)
    return figure


def waits_of(rank: int, of_rank: Sequence[Event], events: Sequence[Sequence[Event]]) -> list[tuple[int, str]]:
    """Whom a rank waits for, and in which call."""
    if not of_rank or of_rank[-1]["end"] is not None:
        return []
    event = of_rank[-1]
    label = f"{event['op']}\nline {event['line']}" if event["line"] else event["op"]
    other = event["source"] if event["source"] is not None else event["peer"]
    if other is not None and other >= 0:
        return [(other, label)]
    same = [each for each, log in enumerate(events) if log and log[-1]["end"] is None and log[-1]["op"] == event["op"]]
    return [(each, label) for each in range(len(events)) if each != rank and each not in same]
