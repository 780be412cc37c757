"""What collectives do: what each rank has before and after, as cells in the colours of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

ACROSS = 4  # collectives in a row
BETWEEN, APART = 1.4, 1.3  # cells of space, between before and after, and between collectives
Cells = Sequence[int]  # what a rank has: numbers, whose bits are the ranks that they come from


def ranks_in(value: int) -> list[int]:
    """The ranks whose 2**rank is in a sum."""
    return [rank for rank in range(int(value).bit_length()) if int(value) >> rank & 1]


def draw_cell(axes: Axes, left: float, top: float, side: float, ranks: Sequence[int], ground: Ground) -> None:
    """A square with a stripe for each rank, or an empty one. top: downwards."""
    for number, rank in enumerate(ranks):
        width = side / len(ranks)
        fill = COLOURS[rank % len(COLOURS)]
        axes.add_patch(Rectangle((left + number * width, top), width, side, facecolor=fill, linewidth=0))
    axes.add_patch(Rectangle((left, top), side, side, facecolor="none", edgecolor=ground.faint, linewidth=0.8))


@on_both_grounds
def collectives_picture(results: Sequence[Mapping[str, tuple[Cells, Cells]]], *, ground: Ground) -> Picture:
    """Each collective in a panel, before and after; a row of cells for each rank.

    results: by rank, what it has before and after each collective: numbers in which bit r is rank r's. A cell with
    several stripes is a sum.
    """
    ranks, names = len(results), [*results[0]]
    told = [f"{name}: {in_words([own[name][1] for own in results])}" for name in names]
    alt = f"What {len(names)} collectives leave on {ranks} ranks. {'. '.join(told)}."
    widths = [[max(1, *(len(own[name][when]) for own in results)) for when in (0, 1)] for name in names]
    lefts = [
        sum(sum(before) + BETWEEN + APART for before in widths[number - number % ACROSS : number])
        for number in range(len(names))
    ]
    rows, high = -(-len(names) // ACROSS), ranks + 2.0
    wide = max(left + sum(both) + BETWEEN for left, both in zip(lefts, widths, strict=True))
    figure, axes = new_figure(8.6, 0.2 + 8.4 * rows * high / wide, alt=alt, ground=ground)
    for number, (name, (before, _)) in enumerate(zip(names, widths, strict=True)):
        left, top = lefts[number], number // ACROSS * high
        axes.text(left, top - 0.3, name, fontweight="bold", fontsize=10)
        for rank, own in enumerate(results):
            for begin, cells in zip((left, left + before + BETWEEN), own[name], strict=True):
                for place, value in enumerate(cells or [0]):
                    draw_cell(axes, begin + place, top + rank + 0.08, 0.84, ranks_in(value), ground)
        arrow = {"arrowstyle": "->", "color": ground.faint}
        middle, end = top + ranks / 2, left + before + BETWEEN
        axes.annotate("", (end - 0.3, middle), (end - BETWEEN + 0.2, middle), arrowprops=arrow)
    axes.set(xlim=(-0.2, wide), ylim=(rows * high - 1.4, -1.1), aspect="equal")
    axes.set_axis_off()
    return figure


def in_words(after: Sequence[Cells]) -> str:
    """What ranks have afterwards."""
    words = [" and ".join(map(name_cell, cells)) or "nothing" for cells in after]
    if len({*words}) == 1:
        return f"every rank has {words[0]}"
    if len({*words[1:]}) == 1:
        return f"rank 0 has {words[0]}, the others have {words[1]}"
    return ", ".join(f"rank {rank} has {own}" for rank, own in enumerate(words))


def name_cell(value: int) -> str:
    """A cell in words."""
    ranks = ranks_in(value)
    return f"{ranks[0]}'s" if len(ranks) == 1 else f"the sum of {'+'.join(map(str, ranks))}"
