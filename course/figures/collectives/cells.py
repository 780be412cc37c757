"""What collectives do: what each rank has before and after, as cells in the colours of ranks.

Numbers tell where they come from: piece k of rank r is 2**(r + ranks k), so a sum of several ranks' pieces k has their
bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

ACROSS = 4  # collectives in a row
BETWEEN, APART = 1.4, 1.3  # cells of space, between before and after, and between collectives
MARGIN = 2.2  # cells, for the ranks' names
Cells = Sequence[int]  # what a rank has: numbers, whose bits are the ranks that they come from


def piece_in(value: int, ranks: int) -> int:
    """The number k of the piece."""
    return (int(value).bit_length() - 1) // ranks if value else 0


def ranks_in(value: int, ranks: int) -> list[int]:
    """The ranks whose piece is in a sum."""
    own = int(value) >> ranks * piece_in(value, ranks)
    return [rank for rank in range(ranks) if own >> rank & 1]


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

    results: by rank, what it has before and after each collective: numbers as above. A cell with several stripes is a
    sum. Where there are several pieces, each cell has its piece's number. An all-to-all, with all pieces on both sides,
    comes last, so that the columns are even.
    """
    ranks = len(results)
    sizes = {name: [max(1, *(len(own[name][when]) for own in results)) for when in (0, 1)] for name in results[0]}
    names = sorted(sizes, key=lambda name: sum(sizes[name]) > ranks + 1)  # last, as it is wider than a column
    cut = {name for name in names if any(piece_in(v, ranks) for own in results for part in own[name] for v in part)}
    told = [f"{name}: {in_words([own[name][1] for own in results], ranks, name in cut)}" for name in names]
    alt = f"What {len(names)} collectives leave on {ranks} ranks. {'. '.join(told)}."
    widths = [sizes[name] for name in names]
    columns = [max(map(sum, widths[column::ACROSS])) + BETWEEN for column in range(min(ACROSS, len(names)))]
    pitch = max(columns[:-1], default=0) + APART  # the last column may be wider
    lefts = [pitch * column for column in range(len(columns))]
    rows, high = -(-len(names) // ACROSS), ranks + 2.9
    wide = lefts[-1] + columns[-1]
    figure, axes = new_figure(8.6, 0.2 + 8.4 * rows * high / (wide + MARGIN), alt=alt, ground=ground)
    for number, (name, (before, _)) in enumerate(zip(names, widths, strict=True)):
        left, top = lefts[number % ACROSS], number // ACROSS * high
        axes.text(left, top - 0.95, name, fontweight="bold", fontsize=10)
        for begin, when in ((left, "before"), (left + before + BETWEEN, "after")):
            axes.text(begin, top - 0.15, when, fontsize=8, color=ground.ink)
        for rank, own in enumerate(results):
            if number % ACROSS == 0:
                axes.text(-0.3, top + rank + 0.5, f"rank {rank}", fontsize=8, color=ground.ink, ha="right", va="center")
            for begin, cells in zip((left, left + before + BETWEEN), own[name], strict=True):
                for place, value in enumerate(cells or [0]):
                    draw_cell(axes, begin + place, top + rank + 0.08, 0.84, ranks_in(value, ranks), ground)
                    if value and name in cut:
                        at = begin + place + 0.42, top + rank + 0.5
                        label = axes.text(*at, str(piece_in(value, ranks)), fontsize=8, ha="center", va="center")
                        label.set(color="black", bbox={"boxstyle": "circle,pad=0.1", "fc": "white", "lw": 0})
        arrow = {"arrowstyle": "->", "color": ground.faint}
        middle, end = top + ranks / 2, left + before + BETWEEN
        axes.annotate("", (end - 0.3, middle), (end - BETWEEN + 0.2, middle), arrowprops=arrow)
    axes.set(xlim=(-MARGIN, wide), ylim=(rows * high - 2.5, -1.8), aspect="equal")
    axes.set_axis_off()
    return figure


def in_words(after: Sequence[Cells], ranks: int, cut: bool) -> str:
    """What ranks have afterwards. cut: whether there are several pieces."""
    words = [" and ".join(name_cell(value, ranks, cut) for value in cells) or "nothing" for cells in after]
    if len({*words}) == 1:
        return f"every rank has {words[0]}"
    if len({*words[1:]}) == 1:
        return f"rank 0 has {words[0]}, the others have {words[1]}"
    return ", ".join(f"rank {rank} has {own}" for rank, own in enumerate(words))


def name_cell(value: int, ranks: int, cut: bool) -> str:
    """A cell in words."""
    own, piece = ranks_in(value, ranks), f" piece {piece_in(value, ranks)}" * cut
    return f"{own[0]}'s{piece}" if len(own) == 1 else f"the sum of {'+'.join(map(str, own))}{piece and f',{piece}'}"
