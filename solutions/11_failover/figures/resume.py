"""Loss against the clock through a kill and a resume, and what the failure cost, by part."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course.figures.contrast import ink_on
from course.figures.failures.attempts import PARTS, Attempt, Failure, failures_of, steps_in_words
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

SHADES = dict(zip(PARTS, (COLOURS[3], COLOURS[5], COLOURS[2], COLOURS[4]), strict=True))
LOST = SHADES["redoing"]
WRITTEN = 0.11  # a part of a bar that is at least so long, measured by the axis, has its seconds written on it


@on_both_grounds
def resume_picture(attempts: Sequence[Attempt], rank: int = 0, *, ground: Ground) -> Picture:
    """Above: losses of one rank, on the clock. Below, a bar for each kill: the seconds until all is as it was."""
    failures = failures_of(attempts)
    told = " ".join(in_words(failure) for failure in failures) or "Nobody was killed."
    made = max((attempt.last for attempt in attempts), default=0)
    alt = f"Loss of rank {rank} against the clock, {steps_in_words(made)}. {told}"
    height = 3.6 + (1.4 + 0.3 * len(failures) if failures else 0)
    figure, axes = new_figure(8.4, height, alt=alt, ground=ground)
    if failures:
        grid = axes.get_gridspec()
        figure.delaxes(axes)
        grid = figure.add_gridspec(2, 1, height_ratios=[2.7, 0.5 + 0.3 * len(failures)])
        axes, below = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
        draw_costs(below, failures, ground)
    draw_losses(axes, attempts, failures, rank, ground)
    return figure


def in_words(failure: Failure) -> str:
    """What a kill cost, as a sentence."""
    _, rank = failure.before.killed
    parts = failure.parts()
    told = ", ".join(f"{part} {seconds:.2f}" for part, seconds in parts.items())
    again = f"{steps_in_words(len(failure.lost))} made again from step {failure.back + 1} on"
    return f"Rank {rank} was killed after step {failure.before.last}; {again}: {sum(parts.values()):.2f} s ({told})."


def draw_losses(
    axes: Axes, attempts: Sequence[Attempt], failures: Sequence[Failure], rank: int, ground: Ground
) -> None:
    """Draw the losses, what of them is lost, the kills, and the waits after them."""
    zero = attempts[0].loaded if attempts else 0.0
    for number, failure in enumerate(failures):
        kill, back = failure.before.end - zero, failure.after.loaded - zero
        labels = ("lost, and made again", "no step is made") if number == 0 else (None, None)
        axes.axvspan(failure.saved_at - zero, kill, color=LOST, alpha=0.3, linewidth=0, label=labels[0])
        axes.axvspan(kill, back, color=ground.pale, linewidth=0, label=labels[1])
    for number, attempt in enumerate(attempts):
        steps = attempt.steps[rank] if rank < len(attempt.steps) else []
        colour, look = COLOURS[min(number, 1)], ("o", "s")[min(number, 1)]
        label = ("until the kill" if failures else "each step", "after the resume")[number] if number < 2 else None
        whens, losses = [when - zero for when, _, _ in steps], [loss for _, _, loss in steps]
        axes.plot(whens, losses, "-", marker=look, color=colour, markersize=4, linewidth=1.3, label=label)
    for number, when in enumerate(when for attempt in attempts for when, _ in attempt.saves):
        label = "checkpoint" if number == 0 else None
        axes.axvline(when - zero, color=ground.faint, linewidth=1, linestyle=":", label=label)
    for number, failure in enumerate(failures):
        steps = failure.before.steps[rank] if rank < len(failure.before.steps) else []
        axes.axvline(failure.before.end - zero, color=ground.ink, linewidth=1.2)
        height = steps[-1][2] if steps else sum(axes.get_ylim()) / 2
        look = {"color": ground.ink, "markersize": 11, "markeredgewidth": 2.2, "linestyle": "none"}
        label = "kill" if number == 0 else None
        axes.plot([failure.before.end - zero], [height], "x", **look, label=label, zorder=5)
    axes.set(xlabel="time since the first step began [s]", ylabel=f"loss, rank {rank}")
    axes.set_title("Killed, and resumed from the last checkpoint" if failures else "Nobody was killed")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=ground.ink)
    quiet_grid(axes, "y")


def draw_costs(axes: Axes, failures: Sequence[Failure], ground: Ground) -> None:
    """Draw the parts of what each kill cost, one after the other."""
    longest = max(sum(failure.parts().values()) for failure in failures) or 1.0
    for row, failure in enumerate(failures):
        left = 0.0
        for part, seconds in failure.parts().items():
            axes.barh(row, seconds, 0.7, left=left, color=SHADES[part], gid=part)
            if seconds >= WRITTEN * longest:
                place = left + seconds / 2, row
                axes.text(*place, f"{seconds:.2f} s", ha="center", va="center", color=ink_on(SHADES[part]))
            left += seconds
        axes.text(left + 0.01 * longest, row, f"{left:.2f} s", va="center", color=ground.ink)
    names = [f"rank {failure.before.killed[1]}" for failure in failures]
    axes.set_yticks(range(len(names)), names)
    axes.set(xlim=(0, 1.12 * longest), ylim=(len(names) - 0.5, -0.5), xlabel="time since the kill [s]")
    axes.set_title("Until the training is where it was")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    shares = {part: [failure.parts()[part] for failure in failures] for part in PARTS}
    patches = [Patch(color=SHADES[part], label=labelled(part, seconds)) for part, seconds in shares.items()]
    axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=ground.ink)


def labelled(part: str, seconds: Sequence[float]) -> str:
    """A part's name, with its seconds where there was only one kill."""
    return f"{part}: {seconds[0]:.2f} s" if len(seconds) == 1 else part
