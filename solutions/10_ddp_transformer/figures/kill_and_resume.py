"""The loss of a training that is killed and resumed, beside that of the same training undisturbed."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def kill_and_resume_picture(
    whole: Sequence[float], killed: Sequence[float], resumed: Sequence[float], steps_per_epoch: int, *, ground: Ground
) -> Picture:
    """Draw losses against steps, from 1.

    whole: of the training that nobody kills. killed: up to the kill, all whole steps of it. resumed: the last steps,
    from the beginning of an epoch on. steps_per_epoch: after each epoch there is a checkpoint.
    """
    first = len(whole) - len(resumed)
    alt = f"Loss of {len(whole)} steps; killed after step {len(killed)}, resumed with step {first + 1}"
    figure, axes = new_figure(7.4, 3.6, alt=alt, ground=ground)
    for end in range(steps_per_epoch, len(whole) + 1, steps_per_epoch):
        axes.axvline(end + 0.5, color=ground.faint, linewidth=0.8, linestyle=":")
    steps = range(1, len(whole) + 1)
    axes.plot(steps, whole, color=ground.faint, linewidth=6, alpha=0.45, label="undisturbed")
    axes.plot(steps[: len(killed)], killed, "o-", color=COLOURS[0], markersize=9, mfc="none", label="until the kill")
    axes.plot(steps[first:], resumed, "s-", color=COLOURS[1], markersize=4, label="after the resume")
    if killed:
        place = [len(killed)], [killed[-1]]
        axes.plot(*place, "x", color=ground.ink, markersize=12, markeredgewidth=2, label="killed in this step")
    if len(killed) > first:
        lost = (first + 0.5, len(killed) + 0.5)
        axes.axvspan(*lost, color=COLOURS[4], alpha=0.18, linewidth=0, label="lost, and made again")
    axes.set(xlabel="step (a dotted line: an epoch ends, a checkpoint is written)", ylabel="loss per token, rank 0")
    axes.set(xlim=(0.5, len(whole) + 0.7))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title("Killed, and resumed from the last checkpoint")
    paper = {"facecolor": ground.paper, "edgecolor": "none", "framealpha": 1}  # no dotted line through the words
    axes.legend(loc="upper right", labelcolor=ground.ink, frameon=True, **paper)
    quiet_grid(axes, "y")
    return figure
