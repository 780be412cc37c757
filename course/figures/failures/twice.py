"""Losses by step of a run that was killed and resumed: which steps were made twice, and what one had guessed."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator

from course.figures.failures.attempts import steps_in_words
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

Curve = Sequence[tuple[int, float]]  # a step's number, and its loss


@on_both_grounds
def twice_picture(
    title: str,
    whole: Curve,
    killed: Curve,
    resumed: Curve,
    saved: Sequence[int] = (),
    guess: int | None = None,
    *,
    ground: Ground,
) -> Picture:
    """Above each other: the undisturbed run as a line, and the two attempts as marks. Steps made twice are shaded.

    saved: steps after which a checkpoint was written. guess: how many steps the reader takes to be made twice.
    """
    twice = sorted({step for step, _ in killed} & {step for step, _ in resumed})
    losses = dict(whole)
    apart = max((abs(loss - losses[step]) for step, loss in resumed), default=0.0)
    same = "the same as in the undisturbed run" if apart == 0 else f"up to {apart:.2g} from the undisturbed run"
    alt = (
        f"Loss by step. One attempt ends after step {killed[-1][0]}, the next begins with step {resumed[0][0]}: "
        f"{steps_in_words(len(twice))} made twice. After the resume, losses are {same}."
        + (f" Your guess: {guess} made twice." if guess is not None else "")
    )
    figure, axes = new_figure(8.4, 3.6, alt=alt, ground=ground)
    if twice:
        axes.axvspan(twice[0] - 0.5, twice[-1] + 0.5, color=ground.pale, linewidth=0, label=f"made twice: {len(twice)}")
    axes.plot(*zip(*whole, strict=True), "-", color=ground.faint, linewidth=1.2, label="undisturbed")
    look = {"linestyle": "none", "markeredgewidth": 1.5}
    axes.plot(*zip(*killed, strict=True), "o", color=COLOURS[0], markersize=4, label="until the kill", **look)
    hollow = {"markerfacecolor": "none", "markersize": 8, "color": COLOURS[1]}
    axes.plot(*zip(*resumed, strict=True), "s", label="after the resume", **hollow, **look)
    for number, step in enumerate(saved):
        label = "checkpoint" if number == 0 else None
        axes.axvline(step + 0.5, color=COLOURS[2], linewidth=1.4, linestyle=":", label=label)
    if guess is not None:
        end = killed[-1][0] + 0.5
        axes.plot([end - guess, end], [0.04] * 2, color=COLOURS[3], linewidth=5, label=f"your guess: {guess}",
                  transform=axes.get_xaxis_transform(), solid_capstyle="butt")  # fmt: skip
    axes.set(xlabel="step", ylabel="loss", title=title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=ground.ink)
    quiet_grid(axes, "y")
    return figure
