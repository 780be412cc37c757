"""The loss of each step of one or more trainings, with the epochs marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def training_steps_picture(
    runs: Mapping[str, Sequence[float]],
    steps_per_epoch: int,
    marks: Mapping[str, tuple[int, float]] | None = None,
    *,
    ground: Ground,
) -> Picture:
    """Draw mean losses per token against steps, from 1.

    runs: by name, one loss per step. steps_per_epoch: sets where epochs end. marks: by name, other points (step, loss)
    to draw.
    """
    ends = "; ".join(f"{name}: from {losses[0]:.2f} to {losses[-1]:.2f}" for name, losses in runs.items() if losses)
    figure, axes = new_figure(7.4, 3.6, alt=f"Loss against steps. {ends}", ground=ground)
    most = max((len(losses) for losses in runs.values()), default=1)
    for end in range(steps_per_epoch, most + 1, steps_per_epoch):
        axes.axvline(end, color=ground.faint, linewidth=0.6, alpha=0.5)
    for number, (name, losses) in enumerate(runs.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(range(1, len(losses) + 1), losses, color=colour, linewidth=1.4, label=name)
    for number, (name, (step, loss)) in enumerate((marks or {}).items(), len(runs)):
        axes.plot(
            [step],
            [loss],
            "o",
            color=COLOURS[number % len(COLOURS)],
            markersize=7,
            clip_on=False,
            zorder=3,
            label=f"{name}: {loss:.2f}",
        )
    axes.set(xlabel="step (a line ends an epoch)", ylabel="mean loss per token", xlim=(-0.01 * most, 1.01 * most))
    axes.set_ylim(0, None)
    axes.set_title("Loss, step by step")
    axes.legend(loc="upper right", labelcolor=ground.ink)
    quiet_grid(axes, "y")
    return figure
