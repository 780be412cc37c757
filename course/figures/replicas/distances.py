"""How far the ranks' models are from rank 0's, step by step: whether copies that began apart ever meet."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def distances_picture(
    paths: Sequence[Sequence[Sequence[float]]], guess: float | None = None, *, ground: Ground
) -> Picture:
    """The distance of each rank's weights from rank 0's, by step.

    paths: by rank and step, the weights. guess: what somebody expects of the last rank at the end; None draws nothing.
    """
    steps = len(paths[0]) - 1
    far = [[dist(*pair) for pair in zip(path, paths[0], strict=True)] for path in paths[1:]]
    told = "; ".join(f"rank {rank}: {own[0]:.2f}, then {own[-1]:.2f}" for rank, own in enumerate(far, 1))
    alt = f"Distances from rank 0's weights, before the first step and after {steps}. {told}."
    alt += "" if guess is None else f" You guessed {guess:g} for rank {len(far)}."
    figure, axes = new_figure(7.2, 3.4, alt=alt, ground=ground)
    for rank, own in enumerate(far, 1):
        colour = ground.text(COLOURS[rank % len(COLOURS)])
        axes.plot(range(steps + 1), own, color=colour, linewidth=2.2)
        axes.text(steps * 1.02, own[-1], f"rank {rank}", color=colour, va="center", clip_on=False)
    if guess is not None:
        axes.plot(
            steps, guess, "D", color=ground.ink, markersize=9, label="your guess", linestyle="none", zorder=5,
            clip_on=False,
        )  # fmt: skip
        axes.legend(loc="center left", bbox_to_anchor=(0.02, 0.9))
    most = max([*(max(own) for own in far), guess or 0])
    axes.set(xlabel="step", ylabel="distance from rank 0", xlim=(0, steps), ylim=(min(guess or 0, 0), 1.25 * most))
    axes.set_title("Do they ever meet?")
    quiet_grid(axes)
    return figure
