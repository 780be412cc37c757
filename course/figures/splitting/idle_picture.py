"""How long a pipeline's stages are idle, by the number of micro-batches: measured, by the formula, and guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.splitting.schedules import bubble
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def idle_picture(
    idle: Mapping[int, Sequence[float]], at: int, guess: float | None = None, *, ground: Ground
) -> Picture:
    """A bar for each number of micro-batches: the mean of the stages' idle shares; and what the formula says.

    idle: by number of micro-batches, by stage, the part of the step in which it was idle; the number of stages may
    differ. guess: the same for `at` micro-batches, in percent; None is not drawn.
    """
    stages = len(idle[at])
    measured = {number: 100 * sum(shares) / len(shares) for number, shares in idle.items()}
    due = {number: 100 * bubble(len(shares), number) for number, shares in idle.items()}
    told = "; ".join(
        f"{number} micro-batch{'es' * (number > 1)}: {measured[number]:.0f} % measured, {due[number]:.0f} % due"
        for number in idle
    )
    alt = f"Part of a step in which {stages} stages are idle. {told}."
    alt += "" if guess is None else f" You guessed {guess:g} % for {at}."
    figure, axes = new_figure(7.2, 1.2 + 0.55 * len(idle), alt=alt, ground=ground)
    rows = dict(zip(idle, range(len(idle)), strict=True))
    axes.barh([*rows.values()], [*measured.values()], 0.5, color=COLOURS[5], label="measured, mean of the stages")
    for number, row in rows.items():
        words = f"{measured[number]:.0f} %"
        axes.text(1.2, row, words, va="center_baseline", color="#111111", fontweight="bold")
    marks = {"linestyle": "none", "markeredgecolor": ground.ink}
    axes.plot([*due.values()], [*rows.values()], "|", markersize=26, markeredgewidth=2, label="by the formula", **marks)
    if guess is not None:
        axes.plot(guess, rows[at], "D", markersize=9, color=COLOURS[4], label=f"your guess: {guess:g} %", **marks)
    axes.set_yticks([*rows.values()], [f"{number} micro-batch{'es' * (number > 1)}" for number in rows])
    axes.set(xlim=(0, max(100, 1.05 * (guess or 0))), ylim=(len(rows) - 0.5, -0.5), xlabel="percent of the step")
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"How long {stages} stages are idle")
    for handle in figure.legend(loc="outside lower center", ncols=3).legend_handles:
        if handle.get_label() == "by the formula":
            handle.set_markersize(14)  # as high as a line of words
    quiet_grid(axes, "x")
    return figure
