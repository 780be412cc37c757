"""Which rank draws which sample in which epoch: a grid coloured by rank, with copies hatched."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

NUMBERED = 24  # with up to this many samples, each cell shows the number of its rank
SPLIT = 2  # parts of a cell, up to which each shows the number of its rank
DASHED = {"facecolor": "none", "linestyle": (0, (2, 2)), "linewidth": 0.8}
HATCHED = {"hatch": "/////", "linewidth": 0}

Draws = Sequence[Sequence[Sequence[int]]]  # by epoch and rank, the samples in the order of drawing


@on_both_grounds
def draws_picture(draws: Draws, samples: int, title: str, *, ground: Ground) -> Picture:
    """One row per epoch, one column for each of `samples` samples, in the colours of the ranks that draw it.

    If a sample is drawn more than once in an epoch, its cell is split, and the later parts are hatched; if nobody draws
    it, its cell is empty. The legend counts both, and says how many are drawn again in an epoch, if that is always the
    same.
    """
    ranks = max(map(len, draws))
    alt = f"{samples} samples in {len(draws)} epochs, each in the colour of the rank of {ranks} that draws it."
    figure, axes = new_figure(7.6, 1.9 + 0.42 * len(draws), alt=alt, ground=ground)
    again: list[int] = []  # by epoch
    missing = 0
    for epoch, shards in enumerate(draws):
        owners = owners_of(shards, samples)
        for sample, owning in enumerate(owners):
            draw_cell(axes, (sample, epoch), owning, ground, numbered=samples <= NUMBERED)
        again.append(sum(max(0, len(owning) - 1) for owning in owners))
        missing += sum(not owning for owning in owners)
    step = 1 if samples <= NUMBERED else 10
    axes.set(xlim=(-0.5, samples - 0.5), ylim=(len(draws) - 0.5, -0.5), xlabel="sample", ylabel="epoch")
    axes.set(xticks=range(0, samples, step), yticks=range(len(draws)), title=title)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    name_ranks(axes, ranks, again, missing, ground)
    return figure


def owners_of(shards: Sequence[Sequence[int]], samples: int) -> list[list[int]]:
    """For each sample, the ranks that draw it, in the order of drawing."""
    owners: list[list[int]] = [[] for _ in range(samples)]
    for turn in range(max(map(len, shards), default=0)):
        for rank, shard in enumerate(shards):
            if turn < len(shard) and 0 <= shard[turn] < samples:
                owners[shard[turn]].append(rank)
    return owners


def draw_cell(axes: Axes, place: tuple[int, int], ranks: Sequence[int], ground: Ground, *, numbered: bool) -> None:
    """Draw one sample in one epoch. place: both. ranks: those that draw it, in the order of drawing."""
    sample, epoch = place
    gap = 0.05 if numbered else 0.0
    left, bottom, side = sample - 0.5 + gap, epoch - 0.42, 1 - 2 * gap
    if not ranks:
        axes.add_patch(Rectangle((left, bottom), side, 0.84, edgecolor=ground.ink, **DASHED))
    part = side / max(1, len(ranks))
    for index, rank in enumerate(ranks):
        corner = (left + index * part, bottom)
        axes.add_patch(Rectangle(corner, part, 0.84, facecolor=COLOURS[rank % len(COLOURS)], linewidth=0))
        if index:
            axes.add_patch(Rectangle(corner, part, 0.84, facecolor="none", edgecolor=ground.paper, **HATCHED))
    for index, rank in enumerate(ranks if numbered and len(ranks) <= SPLIT else ()):
        middle = left + (index + 0.5) * part
        size = "medium" if len(ranks) == 1 else 7
        # On hatching, the number has a ground of its own.
        fill = COLOURS[rank % len(COLOURS)]
        box = {"boxstyle": "circle,pad=0.12", "facecolor": fill, "linewidth": 0} if index else None
        axes.text(middle, epoch, str(rank), ha="center", va="center", color=ink_on(fill), fontsize=size, bbox=box)


def name_ranks(axes: Axes, ranks: int, again: Sequence[int], missing: int, ground: Ground) -> None:
    """Draw the legend: the ranks' colours, and how often a sample was drawn again, by epoch, or by nobody."""
    handles = [Patch(color=COLOURS[rank % len(COLOURS)], label=f"rank {rank}") for rank in range(ranks)]
    if any(again):
        often = f"{again[0]} an epoch" if len({*again}) == 1 else f"{sum(again)} in all"
        label = f"drawn again:\n{often}"
        handles.append(Patch(facecolor=ground.faint, edgecolor=ground.paper, label=label, **HATCHED))
    if missing:
        handles.append(Patch(edgecolor=ground.ink, **DASHED, label=f"nobody: {missing}"))
    legend = axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
    legend._legend_box.align = "left"
