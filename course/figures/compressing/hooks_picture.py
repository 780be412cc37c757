"""What each hook sends in a step, and what the loss pays for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def hooks_picture(runs: Mapping[str, tuple[int, Sequence[float]]], *, ground: Ground) -> Picture:
    """Left: a bar for each hook. Right: its losses, step by step.

    runs: by name, the bytes that a rank puts into the all-reduces of a step, and the loss after each step.
    """
    told = "; ".join(f"{name}: {in_units(size)}, loss {losses[-1]:.2f}" for name, (size, losses) in runs.items())
    figure, (left, right) = new_figure(8.6, 3.8, (1, 1.3), alt=f"Bytes of a step, and the loss. {told}.", ground=ground)
    most = max(size for size, _ in runs.values())
    rows = [*range(len(runs))]
    for row, (name, (size, losses)) in enumerate(runs.items()):
        colour, style = COLOURS[row], ("-", "--", "-")[row % 3]
        left.barh(row, size, 0.5, color=colour)
        left.text(size + 0.02 * most, row, in_units(size), va="center_baseline")
        steps = range(1, len(losses) + 1)
        right.plot(steps, losses, style, color=ground.text(colour), linewidth=2.2, label=name)
    left.set_yticks(rows, [*runs])
    left.set(xlim=(0, 1.35 * most), ylim=(len(runs) - 0.5, -0.5), xticks=(), title="Bytes in a step")
    left.tick_params(axis="y", length=0)
    left.spines["bottom"].set_visible(False)
    right.set(xlabel="steps", ylabel="loss over all images", title="What the loss pays", xlim=(0, None))
    right.set_ylim(bottom=0)
    right.legend(loc="lower left", labelcolor="linecolor")
    quiet_grid(right)
    return figure
