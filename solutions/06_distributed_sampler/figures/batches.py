"""The batches of each rank in each epoch, for two samplers side by side; batches of an earlier epoch are faint."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from course.figures.contrast import ink_on
from course.figures.data.draws import Draws
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds


@on_both_grounds
def batches_picture(left: Draws, right: Draws, batch_size: int, titles: Sequence[str], *, ground: Ground) -> Picture:
    """Sample numbers, in a row for each rank in each epoch, cut into batches of `batch_size`. A legend names the ranks.

    left, right: by epoch and rank, the samples in the order of drawing. A batch is faint if the same samples made a
    batch in an earlier epoch, on any rank. Each panel's title ends with the number of new batches.
    """
    rows = [sum(map(len, draws)) for draws in (left, right)]
    counts = [new_batches(draws, batch_size) for draws in (left, right)]
    alt = " ".join(
        f"{title}: {new} of {total} batches are new." for title, (new, total) in zip(titles, counts, strict=True)
    )
    figure, axes = new_figure(7.6, 1.2 + 0.26 * (max(rows) + len(left)), columns=2, alt=alt, ground=ground)
    for panel, draws, title, (new, total) in zip(axes, (left, right), titles, counts, strict=True):
        draw_panel(panel, draws, batch_size, ground)
        panel.set_title(f"{title}\n{new} of {total} batches are new")
    ranks = max(len(shards) for draws in (left, right) for shards in draws)
    handles = [Patch(color=COLOURS[rank % len(COLOURS)], label=f"rank {rank}") for rank in range(ranks)]
    handles.append(Patch(facecolor=ground.paper, edgecolor=ground.faint, label="as before"))
    axes[-1].legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def cut(shard: Sequence[int], batch_size: int) -> list[tuple[int, ...]]:
    """The batches of one rank in one epoch."""
    return [tuple(shard[start : start + batch_size]) for start in range(0, len(shard), batch_size)]


def earlier_batches(draws: Draws, epoch: int, batch_size: int) -> set[frozenset[int]]:
    """The batches of all epochs before this one."""
    return {frozenset(batch) for shards in draws[:epoch] for shard in shards for batch in cut(shard, batch_size)}


def new_batches(draws: Draws, batch_size: int) -> tuple[int, int]:
    """How many batches were in no earlier epoch, and how many there are."""
    new = total = 0
    for epoch, shards in enumerate(draws):
        earlier = earlier_batches(draws, epoch, batch_size)
        batches = [frozenset(batch) for shard in shards for batch in cut(shard, batch_size)]
        new += sum(batch not in earlier for batch in batches)
        total += len(batches)
    return new, total


def draw_panel(axes: Axes, draws: Draws, batch_size: int, ground: Ground) -> None:
    """Draw one sampler's batches: a row for each rank, epoch below epoch."""
    y, ticks, names = 0.0, [], []
    columns: dict[float, int] = {}  # of batches, by their middle
    for epoch, shards in enumerate(draws):
        earlier = earlier_batches(draws, epoch, batch_size)
        ticks.append(y + (len(shards) - 1) / 2)
        names.append(f"epoch {epoch}")
        for rank, shard in enumerate(shards):
            x = 0.0
            for number, batch in enumerate(cut(shard, batch_size)):
                columns.setdefault(x + min(batch_size, len(batch)) / 2, number)
                faint = frozenset(batch) in earlier
                fill = COLOURS[rank % len(COLOURS)]
                colours = {"facecolor": fill, "linewidth": 0}
                if faint:
                    colours = {"facecolor": ground.paper, "edgecolor": ground.faint, "linewidth": 0.8}
                axes.add_patch(Rectangle((x, y - 0.42), len(batch), 0.84, **colours))
                for column, sample in enumerate(batch):
                    colour = ground.ink if faint else ink_on(fill)
                    axes.text(x + column + 0.5, y, str(sample), ha="center", va="center", color=colour, fontsize=8.5)
                x += len(batch) + 0.25
            y += 1
        y += 0.6
    longest = max(len(shard) + 0.25 * len(cut(shard, batch_size)) for shards in draws for shard in shards)
    axes.set(xlim=(-0.1, longest), ylim=(y - 1, -0.6), yticks=ticks, yticklabels=names)
    axes.set_xticks([*columns], [f"batch {number}" for number in columns.values()])
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
