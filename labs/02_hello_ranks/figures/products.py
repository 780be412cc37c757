"""Which rank multiplies which matrices when, and which messages go between the ranks meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Patch

from course.figures.contrast import ink_on
from course.figures.ranks.message_arrows import draw_messages
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.watch.events import Event
from course.watch.messages import messages

Bar = tuple[str, float, float]  # name of the product, begin and end in seconds


@on_both_grounds
def products_picture(
    bars: Sequence[Sequence[Bar]], events: Sequence[Sequence[Event]], title: str, *, ground: Ground
) -> Picture:
    """One row a rank: a bar for each product in its colour, hatched where the rank is in a communication call.

    bars: by rank. events: by rank, on the same clock; see `course.watch.events`. Messages are arrows.
    """
    names = sorted({name for of_rank in bars for name, _, _ in of_rank})
    colours = dict(zip(names, COLOURS, strict=False))
    last = max((end for of_rank in bars for _, _, end in of_rank), default=1.0)
    last = max([last, *(event["end"] or 0.0 for of_rank in events for event in of_rank)])
    told = [
        f"rank {rank}: "
        + (", ".join(f"{name} from {begin:.2f} to {end:.2f} s" for name, begin, end in of_rank) or "no product")
        for rank, of_rank in enumerate(bars)
    ]
    figure, axes = new_figure(7.6, 1.4 + 0.42 * len(bars), alt=f"{title}. {'; '.join(told)}.", ground=ground)
    for rank, of_rank in enumerate(bars):
        for event in events[rank]:
            end = event["end"] if event["end"] is not None else last
            style = {"facecolor": "none", "edgecolor": ground.faint, "hatch": "////", "linewidth": 0.5}
            axes.barh(rank, end - event["start"], left=event["start"], height=0.6, **style)
        for name, begin, end in of_rank:
            axes.barh(rank, end - begin, left=begin, height=0.6, color=colours[name])
            if end - begin > 0.03 * last:
                axes.text((begin + end) / 2, rank, name, ha="center", va="center", color=ink_on(colours[name]))
    draw_messages(axes, messages(events), last, 1.0, 0.6, ground.ink)
    handles = [Patch(color=colours[name], label=f"product {name}") for name in names]
    handles.append(Patch(facecolor="none", edgecolor=ground.faint, hatch="////", label="waits, or\ncommunicates"))
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
    axes.set_yticks(range(len(bars)), [f"rank {rank}" for rank in range(len(bars))])
    axes.set(xlim=(0, 1.02 * last), ylim=(len(bars) - 0.5, -0.5), xlabel="time [s]")
    axes.set_title(title)
    return figure
