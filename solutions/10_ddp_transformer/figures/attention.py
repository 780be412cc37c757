"""Attention of each token of a translation to each token of its source."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

CELL = 0.3  # height of a row and width of a column, in inches


@on_both_grounds
def attention_picture(
    weights: Tensor, source: Sequence[str], target: Sequence[str], title: str, *, ground: Ground
) -> Picture:
    """weights: [H, T, S] or [T, S], rows sum to 1; heads are averaged. source, target: S and T tokens, as labels.

    A row shows what the model attends to when it writes this token of the target.
    """
    weights = torch.as_tensor(weights).detach().cpu().double()
    weights = weights.mean(0) if weights.dim() == 3 else weights
    if weights.shape != (len(target), len(source)):
        raise ValueError(f"weights {tuple(weights.shape)} are not for {len(target)} x {len(source)} tokens")
    longest = max(map(len, source))
    width, height = 2.6 + CELL * len(source), 1.5 + CELL * len(target) + 0.075 * longest
    figure, axes = new_figure(
        max(width, 4.2),
        height,
        alt=f"Attention of {len(target)} target tokens to {len(source)} source tokens.",
        ground=ground,
    )
    shades = LinearSegmentedColormap.from_list("weight", [ground.paper, ground.text(COLOURS[0])])
    image = axes.imshow(weights.numpy(), cmap=shades, vmin=0, vmax=1, aspect="equal")
    axes.set_xticks(range(len(source)), source, rotation=90)
    axes.set_yticks(range(len(target)), target)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks([x - 0.5 for x in range(1, len(source))], minor=True)
    axes.set_yticks([y - 0.5 for y in range(1, len(target))], minor=True)
    axes.grid(True, which="minor", color=ground.faint, alpha=0.25, linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.set(xlabel="source, read by the encoder", ylabel="next token")
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label("weight")
    figure.suptitle(title, x=0.02, ha="left", fontsize=11, fontweight="bold")
    return figure
