"""The loss of a run, by the number of steps between two averages of the weights."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

MARKERS = ("o", "s", "^", "v")


@on_both_grounds
def pauses_picture(
    losses: Mapping[str, Mapping[int, float]],
    sent: Mapping[int, int],
    at: int,
    guess: float | None = None,
    *,
    ground: Ground,
) -> Picture:
    """A line for each way to train.

    losses: by name, by steps between two averages, the loss in the end. sent: by the same steps, the bytes that a rank
    puts into the all-reduces of the whole run. guess: a loss for `at` steps; None is not drawn.
    """
    told = "; ".join(
        f"{name}: {', '.join(f'{loss:.2f} every {pause}' for pause, loss in own.items())}"
        for name, own in losses.items()
    )
    alt = f"Loss in the end, by steps between two averages. {told}."
    alt += "" if guess is None else f" You guessed {guess:g} for {at}."
    figure, axes = new_figure(7.4, 4.4, alt=alt, ground=ground)
    for number, (name, own) in enumerate(losses.items()):
        colour = ground.text(COLOURS[number])
        axes.plot(own.keys(), own.values(), "-" + MARKERS[number], color=colour, linewidth=2, markersize=7, label=name)
    if guess is not None:
        look = {"markersize": 10, "linestyle": "none", "color": ground.text(COLOURS[4]), "markeredgecolor": ground.ink}
        axes.plot(at, guess, "D", label=f"your guess: {guess:g}", zorder=5, **look)
    axes.set(xscale="log", xlabel="steps between two averages, and the bytes of a rank in the whole run")
    axes.set_xticks([*sent], [f"{pause}\n{in_units(size)}" for pause, size in sent.items()])
    axes.tick_params(axis="x", which="minor", length=0)
    axes.xaxis.set_minor_formatter(lambda *_: "")
    highest = max(max(own.values()) for own in losses.values())
    axes.set(ylabel="loss over all images, in the end", ylim=(0, 1.15 * max(highest, guess or 0)))
    axes.set_title("The loss, if ranks meet less often")
    axes.legend(loc="upper left", labelcolor="linecolor")
    quiet_grid(axes)
    return figure
