"""A number that should be the same on all ranks, such as a buffer's, and what each rank has of it after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

MARKERS = "osD^v*P"


@on_both_grounds
def buffer_drift_picture(drift: Mapping[str, Sequence[Sequence[float]]], *, ground: Ground) -> Picture:
    """One entry of a buffer, BatchNorm's running mean, after each step: a line for each rank.

    drift: by the way's name, by rank, the value after each step, from 1. Each way has a panel; all share their axes.
    """
    spread = {name: [max(values) - min(values) for values in zip(*ranks, strict=True)] for name, ranks in drift.items()}
    told = [
        f"{name}: the ranks are at most {max(gaps, default=0):.3f} apart, after the last step {gaps[-1]:.3f}"
        for name, gaps in spread.items()
        if gaps
    ]
    ranks = max((len(values) for values in drift.values()), default=0)
    alt = f"The running mean of the samples on {ranks} ranks, after each step. {'; '.join(told)}."
    figure, axes = new_figure(8.2, 3.5, columns=max(1, len(drift)), alt=alt, ground=ground)
    panels = [axes] if len(drift) < 2 else list(axes)
    for panel, (name, values) in zip(panels, drift.items(), strict=False):
        for rank, means in enumerate(values):
            colour, marker = COLOURS[rank % len(COLOURS)], MARKERS[rank % len(MARKERS)]
            panel.plot(range(1, len(means) + 1), means, color=colour, marker=marker, markersize=4, linewidth=1.4)
        panel.set_title(name, fontweight="normal", fontsize=10)
        panel.set(xlabel="step")
        panel.xaxis.get_major_locator().set_params(integer=True)
        quiet_grid(panel)
    share_heights(panels, [mean for values in drift.values() for means in values for mean in means])
    panels[0].set_ylabel("running mean of the samples")
    handles = [
        panels[0].plot([], [], color=COLOURS[rank % len(COLOURS)], marker=MARKERS[rank % len(MARKERS)], markersize=5)[0]
        for rank in range(ranks)
    ]
    figure.legend(handles, [f"rank {rank}" for rank in range(ranks)], loc="outside lower center", ncols=max(1, ranks))
    return figure


def share_heights(panels: Sequence, values: Sequence[float]) -> None:
    """Give all panels the same range of values; only the first one has its numbers."""
    if values:
        margin = 0.06 * (max(values) - min(values)) or 0.1
        for panel in panels:
            panel.set_ylim(min(values) - margin, max(values) + margin)
    for panel in panels[1:]:
        panel.tick_params(labelleft=False)
