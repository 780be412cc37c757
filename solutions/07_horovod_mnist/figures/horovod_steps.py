"""What Horovod does with the gradients of a step, tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.watch.libraries.horovod_trace import Phase, fused

COLOUR = MappingProxyType({"copy together": COLOURS[2], "all-reduce": COLOURS[0], "copy apart": COLOURS[4]})


@on_both_grounds
def horovod_picture(entries: Sequence[Phase], title: str, until: float | None = None, *, ground: Ground) -> Picture:
    """Draw what `course.watch.libraries.horovod_trace.read_trace` returns: a row per gradient, a bar per phase.

    On the left is the whole step; a rank's number stands at the time when the rank announced its gradient. On the right
    is its end, magnified, from the time on when all ranks had announced one. until: end of the time axis in seconds, to
    compare several pictures.
    """
    colours = {"negotiate": ground.pale, **COLOUR}
    tensors = list(dict.fromkeys(entry["tensor"] for entry in entries))
    groups = fused(entries)
    alt = f"{title}. {len(tensors)} gradients, in {len(groups)} all-reduces: {'; '.join(map(', '.join, groups))}."
    figure, (whole, part) = new_figure(
        width=7.6, height=1.75 + 0.27 * len(tensors), columns=(1.15, 1), alt=alt, ground=ground
    )
    end = max((entry["end"] for entry in entries), default=1e-3)
    last = until or end
    near = min((entry["end"] for entry in entries if entry["phase"] == "negotiate"), default=0.0)
    near = max(0.0, near - 0.08 * (end - near))
    draw_bars(whole, entries, tensors, (0.0, last), colours)
    draw_bars(part, entries, tensors, (near, end), colours)
    for row, tensor in enumerate(tensors):
        ranks = {r: t for e in entries if e["tensor"] == tensor for r, t in e["ranks"].items()}
        for number, (time, together) in enumerate(arrivals(ranks, last / 6)):
            text = f" {' '.join(map(str, together))} "
            side = "right" if number else "left"
            whole.text(time * 1e3, row, text, ha=side, va="center_baseline", fontsize=9, color=ground.ink, zorder=5)
    whole.set_yticks(range(len(tensors)), tensors)
    part.set_yticks(range(len(tensors)), [])
    whole.set_title(title)
    part.set_title("its end, magnified", fontweight="normal", fontsize=9.5)
    seen = {entry["phase"] for entry in entries}
    patches = [Patch(color=colour, label=phase) for phase, colour in colours.items() if phase in seen]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(colours))
    return figure


def draw_bars(
    axes: Axes,
    entries: Sequence[Phase],
    tensors: Sequence[str],
    times: tuple[float, float],
    colours: Mapping[str, str],
) -> None:
    """Draw the phases between two times, a row for each tensor; what is too short to be seen, a little longer.

    times: from when until when. colours: by phase.
    """
    begin, end = times
    for entry in entries:
        if entry["end"] > begin:
            start = max(entry["start"], begin)
            width = max(entry["end"] - start, (end - begin) / 120)
            row, phase = tensors.index(entry["tensor"]), entry["phase"]
            front = 4 if phase.startswith("copy") else 3
            axes.barh(row, width * 1e3, left=start * 1e3, height=0.7, color=colours[phase], zorder=front)
    axes.set_ylim(len(tensors) - 0.5, -0.5)
    axes.set_xlim(begin * 1e3, (end + 0.02 * (end - begin)) * 1e3)
    axes.set_xlabel("time [ms]")
    quiet_grid(axes, "x")


def arrivals(ranks: Mapping[int, float], near: float) -> list[tuple[float, list[int]]]:
    """When which ranks came, in order of time. Ranks that came within `near` seconds form one entry."""
    clusters: list[tuple[float, list[int]]] = []
    for rank, time in sorted(ranks.items(), key=lambda item: item[1]):
        if clusters and time - clusters[-1][0] < near:
            clusters[-1][1].append(rank)
        else:
            clusters.append((time, [rank]))
    return [(time, sorted(together)) for time, together in clusters]
