"""Steps of several ranks on one clock: when they are handed over, when they are done, and when to read the clock."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds


@on_both_grounds
def timed_steps_picture(seconds: Sequence[float], first: float, warmup: int, steps: int, *, ground: Ground) -> Picture:
    """A row for each rank: the warm-up, a meeting, and the steps that count, with a tick where `step` returns.

    seconds: of a step, by rank. first: how many times longer the first one takes. warmup, steps: how many.
    """
    slowest = max(range(len(seconds)), key=lambda rank: seconds[rank])
    meeting = max(each * (first + warmup - 1) for each in seconds)
    end = meeting + seconds[slowest] * steps
    alt = (
        f"{len(seconds)} ranks: {warmup} steps of warm-up, of which the first is {first:g} times longer; all wait for "
        f"the slowest, rank {slowest}; then {steps} steps together, which end when rank {slowest} is done."
    )
    figure, axes = new_figure(7.6, 3.2, alt=alt, ground=ground)
    for rank, each in enumerate(seconds):
        colour = COLOURS[rank % len(COLOURS)]
        warm = [each * first] + [each] * (warmup - 1)
        left = 0.0
        for width in warm:
            axes.barh(rank, width, 0.5, left, facecolor=ground.pale, edgecolor=ground.paper, linewidth=1.5)
            left += width
        for number in range(steps):
            axes.barh(rank, each, 0.5, meeting + number * each, facecolor=colour, edgecolor=ground.paper, linewidth=1.5)
            handed = meeting + 0.12 * (number + 1)
            axes.plot([handed, handed], [rank - 0.36, rank - 0.28], color=ground.ink, linewidth=1.2)
        axes.text(-0.2, rank, f"rank {rank}", ha="right", va="center", color=ground.ink)
    for moment, words in ((meeting, "all are here:\nstart the clock"), (end, "the slowest is done:\nstop it")):
        axes.plot([moment, moment], [-0.6, len(seconds) - 0.5], color=ground.ink, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.text(moment, -0.7, words, ha="center", va="bottom", color=ground.ink)
    axes.text(0.1, -0.7, "warm-up", ha="left", va="bottom", color=ground.ink)
    axes.text(meeting + 0.3, len(seconds) - 0.42, "small ticks: step() returns", ha="left", va="top", color=ground.ink)
    axes.set(ylim=(len(seconds) - 0.1, -1.7), xlim=(-2.2, end + 2.6), yticks=[], xticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure
