"""Two products on two groups of ranks, and a third one that needs both: who computes, who waits."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def product_waits(
    moments: Sequence[tuple[float, float, float]], guess: Sequence[float | None] = (), *, ground: Ground
) -> Picture:
    """moments: by rank, the seconds at which its first product is done, G starts, and G is done.

    guess: when G starts, and how long rank 0 has waited by then; None is not drawn.
    """
    told = [f"rank {rank} waits {start - done:.1f} s" for rank, (done, start, _) in enumerate(moments)]
    figure, axes = new_figure(7.6, 2.9, alt=f"Two products, then a third one: {', '.join(told)}.", ground=ground)
    for rank, (done, start, end) in enumerate(moments):
        first = rank == 0
        own, name = (COLOURS[0], "A = B C") if rank < 2 else (COLOURS[2], "D = E F")
        axes.barh(rank, done, height=0.6, color=own, label=name if rank in (0, 2) else None)
        look = {"facecolor": "none", "edgecolor": ground.faint, "hatch": "////"}
        axes.barh(rank, start - done, left=done, height=0.6, label="waits" if first else None, **look)
        axes.barh(rank, end - start, left=start, height=0.6, color=COLOURS[4], label="G = A D" if first else None)
    starts, waited = [*guess, None, None][:2]
    mark = {"marker": "D", "markersize": 9, "linestyle": "none", "markeredgecolor": ground.ink, "color": COLOURS[1]}
    if starts is not None:
        axes.plot(starts, 1.5, label="your guess: G starts", zorder=6, **mark)
    if waited is not None:
        end = moments[0][0] + waited
        axes.plot(end, 0, label="your guess: end of wait", zorder=6, **{**mark, "marker": "o"})
    axes.set_yticks(range(len(moments)), [f"rank {rank}" for rank in range(len(moments))])
    axes.set_ylim(len(moments) - 0.4, -0.6)
    axes.set_xlabel("seconds")
    axes.set_title("G needs A and D")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    quiet_grid(axes, "x")
    return figure
