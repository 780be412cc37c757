"""How many samples ranks train on in a second, as bars."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

WIDTH = 0.26  # of a bar, where the distance of two groups is 1
FIRST = 3  # of the colours: those before it are ranks 0, 1 and 2 elsewhere, and here it is how many there are


@on_both_grounds
def speeds_picture(
    speeds: Mapping[int, Mapping[int, float]], title: str, what: str = "images", *, ground: Ground
) -> Picture:
    """A group of bars for each batch size, in it a bar for each number of ranks.

    speeds: by batch size of one rank, and by number of ranks, samples per second of all ranks together.
    """
    told = [
        f"with {size} each, " + ", ".join(f"{value:,.0f} on {count_of(ranks)}" for ranks, value in bars.items())
        for size, bars in speeds.items()
    ]
    figure, axes = new_figure(
        7.2, 3.6, alt=f"{title}. {what.capitalize()} per second: {'; '.join(told)}.", ground=ground
    )
    numbers = list(dict.fromkeys(ranks for bars in speeds.values() for ranks in bars))
    for place, ranks in enumerate(numbers):
        xs = [group + (place - (len(numbers) - 1) / 2) * WIDTH for group in range(len(speeds))]
        heights = [bars.get(ranks, 0.0) for bars in speeds.values()]
        axes.bar(xs, heights, WIDTH * 0.92, color=COLOURS[(place + FIRST) % len(COLOURS)], label=count_of(ranks))
        for x, height in zip(xs, heights, strict=True):
            if height:
                axes.text(x, height, f"{height:,.0f}", ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(speeds)), list(map(str, speeds)))
    top = max(value for bars in speeds.values() for value in bars.values())
    axes.set(xlabel=f"{what} of each rank in a step", ylabel=f"{what} per second", title=title, ylim=(0, 1.1 * top))
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    quiet_grid(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def count_of(ranks: int) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{ranks} rank{'s' if ranks > 1 else ''}"
