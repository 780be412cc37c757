"""How long a backward pass and its all-reduces take together, by the number of buckets, beside what was expected."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.overlap.steps_picture import BACKWARD, WAITING
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def bucket_counts(
    measured: Mapping[int, tuple[float, float]],
    ideal: Mapping[int, float],
    guess: float | None = None,
    guessed: int = 4,
    *,
    ground: Ground,
) -> Picture:
    """A bar for each number of buckets; its second part is what the backward pass did not hide. All times in ms.

    measured: by number of buckets, the ms of the backward pass itself, and until the last bucket has arrived. ideal:
    by number of buckets, the latter if nothing disturbs it. guess: of it with `guessed` buckets; None is not drawn.
    """
    told = "; ".join(
        f"{named(count)}: {total:.0f} ms measured, {ideal[count]:.0f} ideal" for count, (_, total) in measured.items()
    )
    said = "" if guess is None else f" You guessed {guess:g} ms with {named(guessed)}."
    height = 1.5 + 0.46 * len(measured)
    alt = f"A backward pass and its all-reduces. {told}.{said}"
    figure, axes = new_figure(7.6, height, alt=alt, ground=ground)
    for row, (count, (backward, total)) in enumerate(measured.items()):
        first = row == 0
        axes.barh(row, backward, 0.56, color=BACKWARD, label="backward pass" if first else None)
        late = {"color": WAITING, "label": "not hidden" if first else None}
        axes.barh(row, total - backward, 0.56, left=backward, **late)
        axes.plot([ideal[count]] * 2, [row - 0.38, row + 0.38], color=ground.ink, label="ideal" if first else None)
        axes.text(max(total, ideal[count]) + 2, row, f"{total:.0f} ms", va="center")
    if guess is not None:
        row = [*measured].index(guessed)
        look = {"markersize": 9, "markeredgecolor": ground.ink, "color": COLOURS[4], "zorder": 6, "linestyle": "none"}
        axes.plot(guess, row - 0.36, "D", label=f"your guess: {guess:g} ms", **look)
    longest = max([guess or 0, *(total for _, total in measured.values()), *ideal.values()])
    axes.set(xlim=(0, 1.13 * longest), ylim=(len(measured) - 0.4, -0.7))
    axes.set_yticks(range(len(measured)), [named(count) for count in measured])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time since the backward pass began [ms]")
    axes.spines["left"].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    quiet_grid(axes, "x")
    return figure


def named(buckets: int) -> str:
    """A number of buckets in words."""
    return f"{buckets} buckets" if buckets > 1 else "1 bucket"
