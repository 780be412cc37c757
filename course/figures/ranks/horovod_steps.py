"""What Horovod does with the gradients of a step, tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from matplotlib.patches import Patch

from course.figures.style import COLOURS, INK, Picture, look, new_figure, quiet_grid
from course.watch.horovod_trace import Phase, fused

COLOUR = MappingProxyType(
    {"negotiate": "#D5D5D0", "copy together": COLOURS[2], "all-reduce": COLOURS[0], "copy apart": COLOURS[4]}
)


def horovod_picture(entries: Sequence[Phase], title: str, until: float | None = None) -> Picture:
    """Draw what `course.watch.horovod_trace.read_trace` returns: a row per gradient, a bar per phase.

    A rank's number stands at the time when the rank announced its gradient. until: end of the time axis in seconds, to
    compare several pictures.
    """
    tensors = list(dict.fromkeys(entry["tensor"] for entry in entries))
    groups = fused(entries)
    alt = f"{title}. {len(tensors)} gradients, in {len(groups)} all-reduces: {'; '.join(map(', '.join, groups))}."
    figure, axes = new_figure(width=7.6, height=1.3 + 0.27 * len(tensors), alt=alt)
    last = until or max((entry["end"] for entry in entries), default=1e-3)
    with look():
        for entry in entries:
            row, width = tensors.index(entry["tensor"]), max(entry["end"] - entry["start"], last / 300)
            axes.barh(row, width * 1e3, left=entry["start"] * 1e3, height=0.7, color=COLOUR[entry["phase"]])
            for number, (time, ranks) in enumerate(arrivals(entry["ranks"], last / 10)):
                text = f" {' '.join(map(str, ranks))} "
                side = "right" if number else "left"
                axes.text(time * 1e3, row, text, ha=side, va="center_baseline", fontsize=7, color=INK)
        axes.set_yticks(range(len(tensors)), tensors)
        axes.set_ylim(len(tensors) - 0.5, -0.5)
        axes.set_xlim(0, last * 1e3 * 1.02)
        axes.set_xlabel("time [ms]")
        axes.set_title(title)
        quiet_grid(axes, "x")
        patches = [Patch(color=colour, label=phase) for phase, colour in COLOUR.items()]
        axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def arrivals(ranks: Mapping[int, float], near: float) -> list[tuple[float, list[int]]]:
    """When which ranks came, in order of time. Ranks that came within `near` seconds form one entry."""
    clusters: list[tuple[float, list[int]]] = []
    for rank, time in sorted(ranks.items(), key=lambda item: item[1]):
        if clusters and time - clusters[-1][0] < near:
            clusters[-1][1].append(rank)
        else:
            clusters.append((time, [rank]))
    return [(time, sorted(together)) for time, together in clusters]
