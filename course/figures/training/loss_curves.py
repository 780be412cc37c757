"""Loss against samples seen and against steps, the two clocks of runs with different batch sizes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes

from course.figures.style import Ground, Picture, new_figure, on_both_grounds, quiet_grid
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


def steps_until(x: torch.Tensor, y: torch.Tensor, run: Run, excess: float = 0.1) -> int | None:
    """Steps that a run takes until its loss is first within `excess` of the least; None if it never is."""
    [(_, path)] = drawable([run])
    near = (excess_loss(x, y, path) <= excess).nonzero()
    return int(near[0, 0]) if len(near) else None


def samples_until(x: torch.Tensor, y: torch.Tensor, run: Run, excess: float = 0.1) -> int | None:
    """Samples that a run reads until its loss is first within `excess` of the least; None if it never is."""
    steps = steps_until(x, y, run, excess)
    return None if steps is None else int(samples_seen(steps, len(x), run[0])[-1])


@on_both_grounds
def loss_picture(
    x: torch.Tensor, y: torch.Tensor, runs: Sequence[Run], excess: float = 0.1, *, ground: Ground
) -> Picture:
    """Each run's loss above the least, with a dot where it is first within `excess`.

    Left: against samples read. Right: against steps, as many as the shortest run has.
    """
    runs = drawable(runs)
    alt = "Loss above the least, on a logarithmic scale: left against samples seen, right against steps."
    figure, (left, right) = new_figure(8.6, 4.2, columns=2, alt=alt, ground=ground)
    draw_losses(left, x, y, runs, ground, excess)
    draw_losses(right, x, y, runs, ground, excess, by_steps=True)
    name_runs(figure, len(x), runs, ground)
    left.set_title("Loss against samples seen")
    right.set_title("Loss against steps")
    right.set_xlim(0, max(1, min(len(path) for _, path in runs) - 1))
    right.set_ylim(left.get_ylim())
    right.set_ylabel("")
    return figure


def draw_losses(
    axes: Axes,
    x: torch.Tensor,
    y: torch.Tensor,
    runs: Sequence[Run],
    ground: Ground,
    excess: float = 0.1,
    *,
    by_steps: bool = False,
) -> None:
    """Draw the losses of runs; a dot where a run is first within `excess` of the least.

    by_steps: whether against steps, instead of samples.
    """
    until = steps_until if by_steps else samples_until
    for run, colour in zip(runs, map(ground.text, RUN_COLOURS), strict=False):
        batch_size, path = run
        steps = len(path) - 1
        at = torch.arange(steps + 1) if by_steps else samples_seen(steps, len(x), batch_size)
        thin = len(path) > 300 and not by_steps
        axes.plot(at, excess_loss(x, y, path), color=colour, linewidth=0.9 if thin else 1.8, zorder=3)
        if (near := until(x, y, run, excess)) is not None:
            axes.plot(near, excess, "o", markersize=7, color=colour, markeredgecolor=ground.paper, zorder=5)
    axes.axhline(excess, color=ground.ink, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    axes.set_yscale("log")
    axes.set(xlabel="steps" if by_steps else "samples seen", ylabel="loss above the minimum, in % of it")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=1e-3)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.tick_params(which="minor", color=ground.faint)
    quiet_grid(axes)
