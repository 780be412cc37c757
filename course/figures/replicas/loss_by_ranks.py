"""The loss after equally many samples, by the number of ranks: with the learning rate scaled by it, and left alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def loss_by_ranks(runs: Mapping[str, Mapping[int, float]], highest: float, *, ground: Ground) -> Picture:
    """Losses by the number of ranks, on logarithmic axes.

    runs: by name, loss by number of ranks. highest: losses above it, or none at all (nan), stand as arrows at the top.
    """
    told = "; ".join(f"{name}: {', '.join(f'{v:.3g} on {n}' for n, v in run.items())}" for name, run in runs.items())
    figure, axes = new_figure(7.2, 3.8, alt=f"Loss by number of ranks. {told}.", ground=ground)
    for number, (name, run) in enumerate(runs.items()):
        colour = ground.text(COLOURS[number])
        seen = {ranks: value for ranks, value in run.items() if isfinite(value) and value <= highest}
        axes.plot(seen.keys(), seen.values(), "-o", color=colour, linewidth=2, markersize=7, label=name)
        for ranks in run.keys() - seen.keys():
            axes.annotate(
                "", (ranks, highest), (ranks, highest / 2), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2.4}
            )
            axes.annotate(
                "diverged ", (ranks, highest / 1.4), ha="right", va="center", color=colour, xytext=(-6, 0),
                textcoords="offset points",
            )  # fmt: skip
    ticks = sorted({ranks for run in runs.values() for ranks in run})
    low = min(value for run in runs.values() for value in run.values() if isfinite(value))
    axes.set(xscale="log", yscale="log", ylim=(low / 1.2, highest), xlabel="ranks, each with the same batch")
    axes.set(ylabel="loss", title="After equally many samples")
    axes.set_xticks(ticks, [str(each) for each in ticks])
    axes.tick_params(axis="x", which="minor", length=0)
    axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.legend(loc="upper left", labelcolor="linecolor")
    quiet_grid(axes)
    return figure
