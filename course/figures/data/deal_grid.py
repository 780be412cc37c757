"""What each rank draws in one epoch: a row for each rank, cut into batches, with copies hatched."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Patch, Rectangle

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

GAP = 0.3  # between two batches, in cells
AROUND = 1.6  # cells beyond the last one, in which a guess still finds room


@on_both_grounds
def deal_grid(
    shards: Sequence[Sequence[int]], batch: int, guess: Sequence[float | None] = (), *, ground: Ground
) -> Picture:
    """shards: by rank, its samples in the order of drawing. batch: samples in a batch.

    guess: how many samples all ranks draw together, and how many batches each rank has; None is not drawn.
    """
    turns, ranks = max(map(len, shards)), len(shards)
    drawn, batches = sum(map(len, shards)), -(-turns // batch)
    alt = f"{ranks} ranks draw {drawn} samples in one epoch, each of them in {batches} batches of at most {batch}."
    total, own = [*guess, None, None][:2]
    if total is not None:
        alt += f" You guessed {total:g} samples."
    if own is not None:
        alt += f" You guessed batches, {own:g} a rank."
    figure, axes = new_figure(7.2, 0.9 + 0.5 * ranks, alt=alt, ground=ground)
    seen, copies = set(), 0
    for turn in range(turns):
        for rank, shard in enumerate(shards):
            if turn >= len(shard):
                continue
            fill, left, sample = COLOURS[rank % len(COLOURS)], left_of(turn, batch), shard[turn]
            corner = (left + 0.04, rank - 0.42)
            axes.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=fill, linewidth=0))
            copy = sample in seen
            look = {"boxstyle": "circle,pad=0.15", "facecolor": fill, "linewidth": 0} if copy else None
            if copy:
                hatching = {"facecolor": "none", "edgecolor": ground.paper, "hatch": "////", "linewidth": 0}
                axes.add_patch(Rectangle(corner, 0.92, 0.84, **hatching))
            axes.text(left + 0.5, rank, str(sample), ha="center", va="center", color=ink_on(fill), bbox=look)
            copies += copy
            seen.add(sample)
    handles = [Patch(facecolor=ground.faint, edgecolor=ground.paper, hatch="////", label=f"drawn again: {copies}")]
    guessed = any(one is not None for one in guess)
    edge = left_of(turns - 1, batch) + 1 + AROUND * guessed
    first = [number * batch for number in range(batches)]
    ends = [left_of(min(turn + batch, turns) - 1, batch) + 1 for turn in first]
    middles = [(left_of(turn, batch) + end) / 2 for turn, end in zip(first, ends, strict=True)]
    mark = {"markersize": 10, "linestyle": "none", "markeredgecolor": ground.ink, "color": COLOURS[4], "clip_on": False}
    if total is not None:
        turn, rank = divmod(max(1, int(total)) - 1, ranks)
        place = min(left_of(turn, batch) + 0.82, edge)
        handles += axes.plot(place, rank - 0.25, "D", label=f"your guess: samples, {total:g}", **mark)
    if own is not None:
        number = max(1, int(own)) - 1
        place = middles[number] if number < batches else min(left_of(number * batch, batch) + 0.5, edge)
        handles += axes.plot(place, -0.75, "v", label=f"your guess: batches, {own:g}", **mark)
    axes.set(xlim=(-0.1, edge), ylim=(ranks - 0.4, -0.9 if guessed else -0.5))
    axes.set_xticks(middles, [f"batch {number}" for number in range(batches)])
    axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(f"{drawn} samples drawn, {batches} batches a rank")
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def left_of(turn: int, batch: int) -> float:
    """The left edge of a turn's cell."""
    return turn + GAP * (turn // batch)
