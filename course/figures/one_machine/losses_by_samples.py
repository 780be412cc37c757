"""The loss of several runs against the samples that they have read, with the reader's guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.figures.training.loss_surface import RUN_COLOURS


@on_both_grounds
def losses_by_samples(
    runs: Mapping[int, Mapping[int, float]],
    moments: Sequence[int],
    guess: Sequence[int | None] = (),
    *,
    ground: Ground,
) -> Picture:
    """runs: by batch size, the loss by samples read. moments: samples read at which the reader guesses which is lowest.

    guess: a batch size for each moment; None, or one that was not run, is not drawn.
    """
    told = []
    for moment in moments:
        lowest = min(runs, key=lambda size: runs[size][moment])
        told.append(f"After {moment} samples batch size {lowest} has the lowest loss")
    figure, axes = new_figure(7.6, 4.0, alt=f"Loss by samples read. {'. '.join(told)}.", ground=ground)
    for colour, (size, losses) in zip(RUN_COLOURS, runs.items(), strict=False):
        axes.plot([*losses], [*losses.values()], color=colour, linewidth=1.6, label=f"batch size {size}")
    for moment in moments:
        axes.axvline(moment, color=ground.faint, linestyle=":")
    marks = [(moment, runs[own][moment]) for moment, own in zip(moments, guess, strict=False) if own in runs]
    if marks:
        look = {"marker": "D", "markersize": 10, "linestyle": "none", "markeredgecolor": ground.ink, "zorder": 6}
        axes.plot(*zip(*marks, strict=True), color=COLOURS[4], label="your guess", **look)
    axes.set(xscale="log", yscale="log", xlabel="samples read", ylabel="loss on all samples")
    axes.set_xticks(moments, [str(moment) for moment in moments])
    axes.minorticks_off()
    axes.set_title("Who has learnt most from the same number of samples?")
    axes.legend(loc="lower left")
    quiet_grid(axes)
    return figure
