"""The share of padding in batches, which is computed like tokens and then thrown away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def padding_picture(ways: Mapping[str, Sequence[float]], *, ground: Ground) -> Picture:
    """ways: by name of a way to make batches, the share of padding in each batch, from 0 to 1.

    The batches of each way are sorted by padding, so the area under a line shows what is wasted.
    """
    means = {name: sum(shares) / max(1, len(shares)) for name, shares in ways.items()}
    alt = "Share of padding in each batch; on average " + ", ".join(f"{name}: {m:.0%}" for name, m in means.items())
    figure, axes = new_figure(7.2, 3.6, alt=alt, ground=ground)
    for (name, shares), colour in zip(ways.items(), COLOURS, strict=False):
        edges = [index / max(1, len(shares)) for index in range(len(shares) + 1)]
        heights = sorted(shares, reverse=True)
        label = f"{name}: {means[name]:.0%} on average"
        axes.stairs(heights, edges, fill=True, color=colour, alpha=0.25)
        axes.stairs(heights, edges, color=colour, linewidth=1.8, label=label)
    axes.set(xlabel="batches of an epoch, most padding first", ylabel="padding in the batch", xlim=(0, 1))
    axes.set_ylim(0, 1.05 * max((max(shares, default=0) for shares in ways.values()), default=1) or 1)
    axes.set_xticks([0, 0.5, 1], ["first", "half", "last"])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title("How much of each batch is padding")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, -0.42), ncols=len(ways) or 1, labelcolor=ground.ink)
    quiet_grid(axes, "y")
    return figure
