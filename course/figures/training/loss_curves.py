"""Loss against samples seen, the common scale of runs with different batch sizes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes

from course.figures.style import FAINT, GROUND, INK, Picture, look, new_figure, quiet_grid
from course.figures.training.loss_surface import RUN_COLOURS, Run, best_line, drawable, mean_squared_error, name_runs


def samples_seen(steps: int, samples: int, batch_size: int) -> torch.Tensor:
    """Samples read before each of `steps` + 1 points of a path; the last batch of an epoch may be smaller."""
    per_epoch = -(-samples // batch_size)
    step = torch.arange(steps + 1)
    return step // per_epoch * samples + (step % per_epoch) * batch_size


def excess_loss(x: torch.Tensor, y: torch.Tensor, path: torch.Tensor) -> torch.Tensor:
    """How far the loss on x, y [n] exceeds the least, as a share of the least, at each point of path [steps + 1, 2]."""
    least = mean_squared_error(x, y, best_line(x, y))
    return mean_squared_error(x, y, path) / least - 1


def samples_until(x: torch.Tensor, y: torch.Tensor, run: Run, excess: float = 0.1) -> int | None:
    """Samples that a run reads until its loss is first within `excess` of the least; None if it never is."""
    [(batch_size, path)] = drawable([run])
    near = (excess_loss(x, y, path) <= excess).nonzero()
    return int(samples_seen(len(path) - 1, len(x), batch_size)[near[0, 0]]) if len(near) else None


def loss_picture(x: torch.Tensor, y: torch.Tensor, runs: Sequence[Run], excess: float = 0.1) -> Picture:
    """Each run's loss above the least against samples read, with a dot where it is first within `excess`."""
    runs = drawable(runs)
    figure, axes = new_figure(7.6, 4.2, alt="Loss above the least, on a logarithmic scale, against samples seen.")
    draw_losses(axes, x, y, runs, excess)
    name_runs(figure, len(x), runs)
    with look():
        axes.set_title("Loss against samples seen")
    return figure


def draw_losses(axes: Axes, x: torch.Tensor, y: torch.Tensor, runs: Sequence[Run], excess: float = 0.1) -> None:
    """Draw the losses of runs; a dot where a run is first within `excess` of the least."""
    with look():
        for run, colour in zip(runs, RUN_COLOURS, strict=False):
            batch_size, path = run
            seen = samples_seen(len(path) - 1, len(x), batch_size)
            above = excess_loss(x, y, path)
            axes.plot(seen, above, color=colour, linewidth=0.9 if len(path) > 300 else 1.8, zorder=3)
            if (near := samples_until(x, y, run, excess)) is not None:
                axes.plot(near, excess, "o", markersize=7, color=colour, markeredgecolor=GROUND, zorder=5)
        axes.axhline(excess, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
        axes.set_yscale("log")
        axes.set(xlabel="samples seen", ylabel="loss above the least, in % of it")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=1e-3)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axes.tick_params(which="minor", color=FAINT)
        quiet_grid(axes)
