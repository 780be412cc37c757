"""What a rank sends in a step, against the size of the batch: gradients stay as large as they are, activations grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.watch.events import Event

ROOM = 0.14  # above the highest dot, as part of the axis, for the words there


def bytes_sent(events: Sequence[Sequence[Event]]) -> int:
    """Bytes that the busiest rank of a run hands to its collectives and messages. events: by rank."""
    return max((sum(event["bytes"] or 0 for event in own if event["kind"] != "recv") for own in events), default=0)


@on_both_grounds
def bytes_of_a_step_picture(sent: Mapping[str, Mapping[int, int]], *, ground: Ground) -> Picture:
    """A line for each way of splitting, with a dot for each run.

    sent: bytes that the busiest rank hands over in a step, by the way of splitting and the size of the batch; runs with
    0 bytes are left out. Where the first two ways cross is marked. Raises ValueError if no run sent anything.
    """
    lines = {name: {batch: own[batch] for batch in sorted(own) if own[batch]} for name, own in sent.items()}
    counts = [count for own in lines.values() for count in own.values()]
    if not counts:
        raise ValueError("nothing was sent in any step")
    told = "; ".join(
        f"{name}: {', '.join(f'{in_units(count)} with a batch of {batch}' for batch, count in own.items())}"
        for name, own in lines.items()
    )
    first, second, *_ = [*lines.items(), ("", {}), ("", {})]
    meet = crossing(first[1], second[1])
    there = f" {first[0]} and {second[0]} send equally much at a batch of about {meet:.0f}." if meet else ""
    alt = f"Bytes that the busiest rank hands over in a step. {told}.{there}"
    figure, axes = new_figure(7.6, 4.2, alt=alt, ground=ground)
    for number, (name, own) in enumerate(lines.items()):
        colour = ground.text(COLOURS[number % len(COLOURS)])
        axes.plot([*own], [*own.values()], "o-", color=colour, linewidth=1.8, markersize=6, label=name)
    if meet:
        axes.axvline(meet, color=ground.faint, linestyle=":")
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "right", "va": "top"}
        axes.annotate(f"equal at a\nbatch of {meet:.0f}", (meet, 0.98), (-6, 0), **place)
    batches = sorted({batch for own in lines.values() for batch in own})
    axes.set(xscale="log", yscale="log", xlabel="samples in the batch", ylabel="bytes handed over in a step")
    axes.set_xticks(batches, [str(batch) for batch in batches])
    axes.minorticks_off()
    low, high = min(counts) / 1.6, max(counts) * 1.6 * (max(counts) / min(counts)) ** ROOM
    axes.set_ylim(low, high)
    marks = marks_between(low, high)
    axes.set_yticks(marks, [in_units(each) for each in marks])
    axes.set_title("What the busiest rank sends in a step (dots: your own runs)")
    figure.legend(loc="outside lower center", ncols=min(3, len(lines)))
    quiet_grid(axes)
    return figure


def marks_between(low: float, high: float) -> list[float]:
    """Round numbers, some three to nine of them: powers of ten, over few decades three times these as well."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = math.log10(high / low)
    leads = (1, 2, 5) if decades < 2 else (1, 3) if decades < 4 else (1,)
    return [lead * 10.0**power for power in powers for lead in leads if low <= lead * 10.0**power <= high]


def crossing(one: Mapping[int, int], other: Mapping[int, int]) -> float | None:
    """The size of the batch where both send as much, by straight lines between the logarithms of what was measured."""
    both = sorted(batch for batch in one if batch in other)
    gaps = [(math.log(batch), math.log(one[batch] / other[batch])) for batch in both]
    for (x, gap), (next_x, next_gap) in pairwise(gaps):
        if gap != next_gap and gap * next_gap <= 0:
            return math.exp(x + (next_x - x) * gap / (gap - next_gap))
    return None
