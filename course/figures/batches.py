"""The batches of each rank, epoch by epoch, side by side for two ways: a batch that was there before is faint."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.figures.draws import Draws
from course.figures.style import COLOURS, FAINT, GROUND, INK, Picture, look, new_figure


def batches_picture(left: Draws, right: Draws, batch_size: int, titles: Sequence[str]) -> Picture:
    """Samples by their numbers, a row for each rank in each epoch, cut into batches of `batch_size`.

    left, right: by epoch and rank, the samples in the order in which they are drawn. A batch of samples that made a
    batch in an epoch before, on whatever rank, is faint, and each title tells how many are new.
    """
    rows = [sum(map(len, draws)) for draws in (left, right)]
    counts = [new_batches(draws, batch_size) for draws in (left, right)]
    alt = " ".join(
        f"{title}: {new} of {all_} batches are new." for title, (new, all_) in zip(titles, counts, strict=True)
    )
    figure, axes = new_figure(7.6, 1.2 + 0.26 * (max(rows) + len(left)), columns=2, alt=alt)
    with look():
        for panel, draws, title, (new, all_) in zip(axes, (left, right), titles, counts, strict=True):
            draw_panel(panel, draws, batch_size)
            panel.set_title(f"{title}\n{new} of {all_} batches are new")
    return figure


def cut(own: Sequence[int], batch_size: int) -> list[tuple[int, ...]]:
    """The batches of one rank in one epoch."""
    return [tuple(own[start : start + batch_size]) for start in range(0, len(own), batch_size)]


def seen_before(draws: Draws, epoch: int, batch_size: int) -> set[frozenset[int]]:
    """The batches of all epochs before."""
    return {frozenset(batch) for shards in draws[:epoch] for own in shards for batch in cut(own, batch_size)}


def new_batches(draws: Draws, batch_size: int) -> tuple[int, int]:
    """How many batches were in no epoch before, and how many there are."""
    new = total = 0
    for epoch, shards in enumerate(draws):
        before = seen_before(draws, epoch, batch_size)
        batches = [frozenset(batch) for own in shards for batch in cut(own, batch_size)]
        new += sum(batch not in before for batch in batches)
        total += len(batches)
    return new, total


def draw_panel(axes: Axes, draws: Draws, batch_size: int) -> None:
    """One way: its epochs below each other, and in each its ranks."""
    y, ticks, names = 0.0, [], []
    for epoch, shards in enumerate(draws):
        before = seen_before(draws, epoch, batch_size)
        ticks.append(y + (len(shards) - 1) / 2)
        names.append(f"epoch {epoch}")
        for rank, own in enumerate(shards):
            x = 0.0
            for batch in cut(own, batch_size):
                faint = frozenset(batch) in before
                colours = {"facecolor": COLOURS[rank % len(COLOURS)], "linewidth": 0}
                if faint:
                    colours = {"facecolor": GROUND, "edgecolor": FAINT, "linewidth": 0.8}
                axes.add_patch(Rectangle((x, y - 0.42), len(batch), 0.84, **colours))
                for place, sample in enumerate(batch):
                    colour = INK if faint else GROUND
                    axes.text(x + place + 0.5, y, str(sample), ha="center", va="center", color=colour, fontsize=8.5)
                x += len(batch) + 0.25
            y += 1
        y += 0.6
    longest = max(len(own) + 0.25 * len(cut(own, batch_size)) for shards in draws for own in shards)
    axes.set(xlim=(-0.1, longest), ylim=(y - 1, -0.6), xticks=[], yticks=ticks, yticklabels=names)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
