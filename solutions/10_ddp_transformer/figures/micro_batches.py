"""The micro-batches of one step on each rank: how many of their positions are tokens, and how many padding."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Patch

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds


@on_both_grounds
def micro_batches_picture(
    tokens: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], title: str, *, ground: Ground
) -> Picture:
    """One row per rank, one bar per micro-batch: as long as its positions, filled as far as they are tokens.

    tokens, positions: numbers of tokens and of positions, by rank and micro-batch.
    """
    totals = [sum(counts) for counts in tokens]
    alt = "; ".join(f"rank {rank}: {', '.join(map(str, counts))} tokens" for rank, counts in enumerate(tokens))
    figure, axes = new_figure(7.6, 1.5 + 0.5 * max(1, len(tokens)), alt=alt, ground=ground)
    longest = max((sum(counts) for counts in positions), default=1)
    ends = []
    for rank, (rank_tokens, rank_positions) in enumerate(zip(tokens, positions, strict=True)):
        first = 0
        for number, (real, padded) in enumerate(zip(rank_tokens, rank_positions, strict=True)):
            colour = COLOURS[number % len(COLOURS)]
            axes.barh(
                rank, padded, 0.62, left=first, color=ground.paper, edgecolor=ground.faint, hatch="////", linewidth=0.6
            )
            axes.barh(rank, real, 0.62, left=first, color=colour)
            if real > 0.06 * longest:
                axes.text(first + real / 2, rank, str(real), ha="center", va="center", color=ink_on(colour))
            first += padded + 0.01 * longest
        ends.append(first)
        axes.text(first + 0.01 * longest, rank, f"{totals[rank]} tokens", va="center", color=ground.ink)
    axes.set_yticks(range(len(tokens)), [f"rank {rank}" for rank in range(len(tokens))])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="target tokens of one step, padding included", xlim=(0, 1.25 * max(ends, default=1)))
    axes.set_title(title)
    hatched = Patch(facecolor=ground.paper, edgecolor=ground.faint, hatch="////", label="padding")
    most = max(map(len, tokens), default=0)
    filled = [Patch(color=COLOURS[number % len(COLOURS)], label=f"micro-batch {number + 1}") for number in range(most)]
    axes.legend(handles=[*filled[:4], hatched], loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
