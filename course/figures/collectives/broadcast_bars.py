"""How long four ways to serve everybody took: bars, the ideal, and the reader's guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def broadcast_bars(
    measured: Mapping[str, float],
    ideal: Mapping[str, float],
    guess: Sequence[float | None] = (),
    *,
    ground: Ground,
) -> Picture:
    """A bar for each way, with a line where it would end if nothing but the lines took time.

    measured, ideal: seconds by way. guess: the reader's seconds in the same order; None, or one left out, is not drawn.
    """
    guesses = [*guess, *[None] * len(measured)][: len(measured)]
    told = []
    for (way, seconds), guessed in zip(measured.items(), guesses, strict=True):
        own = f", you guessed {guessed:g}" if guessed is not None else ""
        told.append(f"{way}: {seconds:.1f} s measured, {ideal[way]:.1f} ideal{own}")
    figure, axes = new_figure(7.2, 3.1, alt=f"Seconds until everybody has the file. {'; '.join(told)}.", ground=ground)
    rows = range(len(measured))
    axes.barh(rows, [*measured.values()], height=0.55, color=COLOURS[5], label="measured, times 20")
    for row, (way, seconds) in enumerate(measured.items()):
        label = "ideal" if row == 0 else None
        axes.plot([ideal[way]] * 2, [row - 0.36, row + 0.36], color=ground.ink, linewidth=2, label=label)
        axes.annotate(
            f"{seconds:.1f} s", (max(seconds, ideal[way]), row), (8, 0), textcoords="offset points", va="center"
        )
    marks = [(guessed, row) for row, guessed in enumerate(guesses) if guessed is not None]
    if marks:
        seconds, places = zip(*marks, strict=True)
        look = {"marker": "D", "markersize": 9, "linestyle": "none", "markeredgecolor": ground.ink, "zorder": 4}
        axes.plot(seconds, [place + 0.36 for place in places], color=COLOURS[4], label="your guess", **look)
    axes.set_yticks(rows, [*measured])
    axes.set_ylim(len(measured) - 0.4, -0.6)
    longest = max(*measured.values(), *ideal.values(), *(guessed for guessed, _ in marks), 0.0)
    axes.set_xlim(0, 1.12 * longest)
    axes.set_xlabel("seconds")
    axes.set_title("Until all seven have the file")
    axes.legend(loc="lower right")
    quiet_grid(axes, "x")
    return figure
