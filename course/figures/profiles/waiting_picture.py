"""The time that each rank spends in all-reduces, in two parts: until the last rank comes, and after that."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def waiting_picture(
    waited: Sequence[float], sent: Sequence[float], guess: int | None = None, *, ground: Ground
) -> Picture:
    """A bar for each rank. waited, sent: seconds by rank. guess: a rank, which is marked; None is not drawn."""
    ranks = range(len(waited))
    parts = zip(waited, sent, strict=True)
    told = "; ".join(f"rank {rank}: {1e3 * a:.0f} and {1e3 * b:.0f} ms" for rank, (a, b) in enumerate(parts))
    alt = f"All-reduces, before the last rank has come and after it. {told[0].upper()}{told[1:]}."
    alt += "" if guess is None else f" You guessed rank {guess}."
    figure, axes = new_figure(6.0, 1.7 + 0.4 * len(waited), alt=alt, ground=ground)
    for values, left, colour, label in (
        (waited, [0.0] * len(waited), COLOURS[6], "the last rank has not come yet"),
        (sent, waited, COLOURS[1], "all ranks are there"),
    ):
        axes.barh(ranks, [1e3 * each for each in values], 0.6, [1e3 * each for each in left], color=colour, label=label)
    names = [f"rank {rank}" + "\n(your guess)" * (rank == guess) for rank in ranks]
    axes.set_yticks([*ranks], names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set(xlabel="milliseconds in all-reduces")
    axes.set_title("The same all-reduces, seen by four ranks" if len(waited) == 4 else "The same all-reduces")
    figure.legend(loc="outside lower center", ncols=2, labelcolor=ground.ink)
    quiet_grid(axes, "x")
    return figure
