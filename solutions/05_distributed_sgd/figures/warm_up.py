"""SGD on the model y = u v x, whose loss is steeper where training begins than where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.figures.training.loss_surface import CONTOURS, SLOPES

EDGE = 5.0  # the picture shows u and v from -1 to here
SIGHT = 1e4  # losses above it are not drawn


def factors_loss(x: torch.Tensor, y: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """The mean squared error [...] of y = u v x over x, y [n], at points (u, v) [..., 2]."""
    return ((points[..., :1] * points[..., 1:] * x - y) ** 2).mean(-1)


@on_both_grounds
def warm_up_picture(
    x: torch.Tensor, y: torch.Tensor, runs: Mapping[str, Sequence[Sequence[float]]], *, ground: Ground
) -> Picture:
    """Left: paths over the loss in the plane (u, v); right: their losses by step.

    runs: by name, the points (u, v) of a run, which may leave the picture.
    """
    paths = {name: torch.tensor([list(point) for point in path], dtype=x.dtype) for name, path in runs.items()}
    losses = {name: factors_loss(x, y, path) for name, path in paths.items()}
    told = [f"{name}: {float(loss[-1]):.3g} after {len(loss) - 1} steps" for name, loss in losses.items()]
    alt = f"Paths over the loss of y = u v x, and their losses: {'; '.join(told)}."
    figure, (left, right) = new_figure(8.6, 4.3, columns=2, alt=alt, ground=ground)
    grid = torch.linspace(-1, EDGE, 140, dtype=x.dtype)
    loss = factors_loss(x, y, torch.stack(torch.meshgrid(grid, grid, indexing="xy"), -1))
    levels = [float(loss.min()) * 2**power for power in range(11)]
    left.contourf(grid, grid, loss, levels=levels, cmap=SLOPES[ground], norm=LogNorm(), extend="both", zorder=0)
    left.contour(grid, grid, loss, levels=levels, colors=CONTOURS[ground], linewidths=0.7, zorder=1)
    left.set(xlim=(-1, EDGE), ylim=(-1, EDGE), xlabel="u", ylabel="v", title="The loss of y = u v x")
    handles = []
    for (name, path), colour in zip(paths.items(), COLOURS, strict=False):
        ink = ground.text(colour)
        left.plot(*path.T, "-o", color=ink, linewidth=1.8, markersize=4, zorder=5, clip_on=True)
        seen = losses[name].clamp(max=SIGHT)
        right.plot(range(len(seen)), seen, "-o", color=ink, linewidth=1.8, markersize=4)
        handles.append(Line2D([], [], color=ink, linewidth=3, label=name))
    right.set(yscale="log", ylim=(0.5, SIGHT), xlabel="step", title="The loss by step")
    quiet_grid(right)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), labelcolor="linecolor")
    return figure
