"""One training step in several ways below each other, and what of the communication nothing hides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from matplotlib.patches import Patch

from course.figures.overlap.step_spans import Span, StepSpans, step_spans
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

FORWARD, BACKWARD, ON_THE_LINE, WAITING = COLOURS[2], COLOURS[5], COLOURS[0], COLOURS[1]
GAP = 0.0008  # seconds left blank between two bars
# In inches: a rank's row and its bar, the line's, a way's name, the blank below it, and axis and legend.
ROW, BAR, LINE, NAME, BLANK, AROUND = 0.13, 0.11, 0.2, 0.24, 0.14, 1.0


@on_both_grounds
def steps_picture(ways: Mapping[str, dict], latency: float, bandwidth: float, *, ground: Ground) -> Picture:
    """For each way a row for each rank, with what it computes, and one for when the line carries an all-reduce.

    ways: by name, what `ranks` and `events` of a run are, see `step_spans`. latency (s), bandwidth (bytes/s): of the
    simulated network.
    """
    spans = {name: step_spans(run["ranks"], run["events"], latency, bandwidth) for name, run in ways.items()}
    told = "; ".join(
        f"{name} {1000 * step.total:.0f} ms, of which {1000 * step.not_hidden:.0f} after the backward pass"
        for name, step in spans.items()
    )
    size = max((len(step.ranks) for step in spans.values()), default=0)
    each = NAME + size * ROW + LINE + BLANK
    alt = f"One step on {size} rank{'s' * (size != 1)}. {told}."
    figure, axes = new_figure(8.8, AROUND + each * len(spans), alt=alt, ground=ground)
    longest = 1000 * max((step.total for step in spans.values()), default=0.001)
    ticks = {}
    for number, (name, step) in enumerate(spans.items()):
        top = each * number + NAME
        for row, (begin, end), colour in bars(step):
            height, place = (BAR, top + row * ROW) if row < size else (LINE - 0.02, top + size * ROW + 0.04)
            width = 1000 * max(end - begin - GAP, GAP)
            axes.barh(place, width, height, left=1000 * begin, color=colour, linewidth=0, zorder=3)
        axes.text(0, top - 0.1, name, fontweight="bold", va="bottom")
        middle = top + (size - 1) * ROW / 2
        axes.text(1000 * step.total + 0.01 * longest, middle, f"{1000 * step.total:.0f} ms", va="center")
        ticks |= {middle: f"ranks 0 to {size - 1}" if size > 1 else "rank 0", top + size * ROW + 0.04: "network"}
    axes.set_yticks([*ticks], [*ticks.values()])
    axes.tick_params(axis="y", length=0)
    axes.set(
        xlim=(0, 1.12 * longest), ylim=(each * len(spans) - BLANK + 0.1, 0), xlabel="time since the step began [ms]"
    )
    axes.spines["left"].set_visible(False)
    quiet_grid(axes, "x")
    labels = {"forward": FORWARD, "backward, layer by layer": BACKWARD, "all-reduce on the network": ON_THE_LINE}
    labels["waiting: not hidden"] = WAITING
    handles = [Patch(color=colour) for colour in labels.values()]
    figure.legend(handles, [*labels], loc="outside lower center", ncols=4)
    return figure


def bars(step: StepSpans) -> Iterator[tuple[int, Span, str]]:
    """Row, span and colour of each bar; the row below the ranks' is the line's."""
    for row, rank in enumerate(step.ranks):
        yield row, rank.forward, FORWARD
        for _, span in rank.layers:
            yield row, span, BACKWARD
        if step.transfers and rank.total - rank.computed > GAP:
            yield row, (rank.computed, rank.total), WAITING
    for span in step.transfers:
        yield len(step.ranks), span, ON_THE_LINE
