"""What each rank has in its memory: a row for each rank, a cell for each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.watch.wording import name_ranks

NUMBERED = 16  # columns up to which a cell shows its number


@on_both_grounds
def memory_picture(arrays: Mapping[str, Sequence[Sequence[int]]], title: str, *, ground: Ground) -> Picture:
    """Arrays side by side, each as the ranks have it: a cell in the rank's colour where there is a number other than 0.

    arrays: by the array's name, its numbers on each rank, as many on all ranks.
    """
    told = [f"{name}: {in_words(rows)}" for name, rows in arrays.items()]
    widths = [max(1, max(map(len, rows), default=1)) for rows in arrays.values()]
    ranks = max(map(len, arrays.values()), default=1)
    alt = f"{title}. {'. '.join(told)}."
    figure, axes = new_figure(7.6, 0.9 + 0.36 * ranks, columns=widths, alt=alt, ground=ground)
    for number, (panel, (name, rows)) in enumerate(
        zip([axes] if len(widths) == 1 else axes, arrays.items(), strict=True)
    ):
        draw_rows(panel, rows, ground)
        panel.set_title(name, fontweight="normal", fontsize=10, loc="center")
        panel.set_yticks(range(len(rows)), [f"rank {rank}" for rank in range(len(rows))] if not number else [])
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def draw_rows(axes: Axes, rows: Sequence[Sequence[int]], ground: Ground) -> None:
    """Draw one array on all ranks."""
    columns = max(1, max(map(len, rows), default=1))
    for rank, row in enumerate(rows):
        for place, value in enumerate(row):
            fill = COLOURS[rank % len(COLOURS)] if value else ground.paper
            axes.add_patch(Rectangle((place - 0.46, rank - 0.4), 0.92, 0.8, facecolor=fill, edgecolor=ground.faint))
            if value and columns <= NUMBERED:
                axes.text(place, rank, value, ha="center", va="center", color=ink_on(fill), fontsize=8.5)
    axes.set(xlim=(-0.6, columns - 0.4), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def in_words(rows: Sequence[Sequence[int]]) -> str:
    """How many numbers each rank has."""
    counts = [sum(map(bool, row)) for row in rows]
    if len(set(counts)) == 1:
        return f"numbers on each rank: {counts[0]}"
    return "; ".join(f"{name_ranks([rank])} has {count}" for rank, count in enumerate(counts))
