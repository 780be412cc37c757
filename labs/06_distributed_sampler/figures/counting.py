"""The accuracy of the same predictions on more and more ranks, with and without counting copies of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def counting_picture(padded: Sequence[float], exact: Mapping[int, float], samples: int, *, ground: Ground) -> Picture:
    """Accuracy over the number of ranks.

    padded: on 1, 2, 3, ... ranks, counting the copies that fill up the shards. exact: by number of ranks, counting each
    sample once. samples: their number.
    """
    ranks = range(1, len(padded) + 1)
    alt = (
        f"Accuracy on {samples} samples: with copies counted between {min(padded):.3f} and {max(padded):.3f}, "
        f"depending on the number of ranks; each counted once {', '.join(f'{value:.3f}' for value in exact.values())}."
    )
    figure, axes = new_figure(7.2, 3.8, alt=alt, ground=ground)
    axes.plot(ranks, padded, "-o", color=COLOURS[1], linewidth=1, markersize=3.5, label="copies counted, too")
    once = next(iter(exact.values()))
    dashes = {"color": ground.faint, "linewidth": 1, "linestyle": (0, (4, 3))}
    axes.axhline(once, **dashes, label="accuracy of all samples", zorder=1)
    label = "each sample counted once, measured"
    axes.plot([*exact], [*exact.values()], "s", color=COLOURS[0], markersize=7, label=label, zorder=3)
    low, high = min([*padded, *exact.values()]), max([*padded, *exact.values()])
    room = max(0.01, high - low)
    axes.set(xlim=(0, len(padded) + 1), ylim=(low - 0.15 * room, high + 0.5 * room))
    axes.set(xlabel="ranks", ylabel="accuracy", title=f"{samples} predictions, counted on more and more ranks")
    axes.legend(loc="upper right")
    quiet_grid(axes)
    return figure
