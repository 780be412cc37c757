"""The gradients of several ranks' samples, and the one step that comes of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from course.figures.film import Stills, film_of, filmed
from course.figures.player import Film
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid
from course.figures.training.loss_surface import best_line, draw_surface, window

Point = Sequence[float]


def downhill(x: torch.Tensor, y: torch.Tensor, point: Point) -> torch.Tensor:
    """Minus the gradient [2] of the mean squared error over x, y [k] of the line `point`."""
    error = point[0] * x + point[1] - y
    return -2 * torch.stack([(error * x).mean(), error.mean()])


def arrow(axes: Axes, begin: Point, way: Point, colour: str, width: float) -> None:
    """Draw an arrow from a point by a way."""
    end = begin[0] + way[0], begin[1] + way[1]
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, (begin[0], begin[1]), arrowprops={**style, "mutation_scale": 8 + 3 * width}, zorder=7)


@on_both_grounds
def rank_gradients_picture(
    x: torch.Tensor, y: torch.Tensor, counts: Sequence[int], point: Point, *, ground: Ground
) -> Picture:
    """Arrows against the gradients of the ranks' samples, and a thick one against that of all, on the loss of all.

    x, y [n]. counts: how many samples each rank has, in the order of x. point: the line (m, n) at which they are taken.
    """
    words = ", ".join(map(str, counts))
    alt = (
        f"The loss of all samples, an arrow downhill for each of {len(counts)} ranks with {words} samples, one for all."
    )
    figure, axes = new_figure(7.6, 4.6, alt=alt, ground=ground)
    shares = x.argsort().split(list(counts))
    ways = [0.1 * downhill(x[own], y[own], point) for own in shares]
    ends = torch.stack([torch.tensor(point, dtype=x.dtype) + way for way in ways])
    draw_surface(axes, x, y, window(torch.cat([ends, best_line(x, y)[None], torch.tensor([point])])), ground)
    handles = []
    for rank, (way, count) in enumerate(zip(ways, counts, strict=True)):
        colour = ground.text(COLOURS[rank % len(COLOURS)])
        arrow(axes, point, way.tolist(), colour, 1.6)
        handles.append(Line2D([], [], color=colour, linewidth=1.6, label=f"rank {rank}: {count}"))
    arrow(axes, point, (0.1 * downhill(x, y, point)).tolist(), ground.ink, 3.2)
    handles.append(Line2D([], [], color=ground.ink, linewidth=3.2, label=f"all: {len(x)}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), labelcolor="linecolor")
    axes.set_title("Downhill for each rank's samples, and for all")
    return figure


def steps_film(x: torch.Tensor, y: torch.Tensor, path: Sequence[Point], ranks: int) -> Film:
    """Left: a path over the loss; right: in each step, the parts that the ranks' samples have in it, laid end to end.

    x, y [n]. path: points (m, n). The parts are those of equal shares of all samples, in the order of x; they add up to
    the step of all samples, which the path follows but for the noise of its batch. Each step is drawn as large.
    """
    shares, steps, captions = x.argsort().tensor_split(ranks), len(path) - 1, []
    for number, (m, n) in enumerate(path):
        parts = [float(downhill(x[own], y[own], (m, n)).norm()) * len(own) for own in shares]
        where = f"Before step {number + 1} of {steps}" if number < steps else f"After {steps} steps"
        captions.append(f"{where}: m = {m:.2f}, n = {n:.2f}. Rank {parts.index(max(parts))} pulls most.")
    return film_of(
        f"a path of {steps} steps, and the parts of {ranks} ranks", steps_stills(x, y, path, ranks), captions
    )


@on_both_grounds
def steps_stills(x: torch.Tensor, y: torch.Tensor, path: Sequence[Point], ranks: int, *, ground: Ground) -> Stills:
    """The images of `steps_film`, one for each point."""
    points = torch.tensor([list(point) for point in path], dtype=x.dtype)
    figure, (left, right) = new_figure(7.6, 3.8, columns=2, ground=ground)
    draw_surface(left, x, y, window(torch.cat([points, best_line(x, y)[None]])), ground)
    shares = x.argsort().tensor_split(ranks)
    parts = torch.stack(
        [torch.stack([downhill(x[own], y[own], at) * len(own) / len(x) for own in shares]) for at in points.tolist()]
    )
    chains = torch.cat([torch.zeros(len(points), 1, 2, dtype=x.dtype), parts.cumsum(1)], 1)  # [steps + 1, ranks + 1, 2]
    chains = chains / chains.abs().amax((1, 2), keepdim=True)
    right.set(
        xlim=(-1.15, 1.15),
        ylim=(-1.15, 1.15),
        xlabel="change of slope m",
        ylabel="change of intercept n",
        xticks=[0],
        yticks=[0],
    )
    quiet_grid(right)
    left.set_title("The path of all ranks")
    moving = [right.set_title("step 1, its parts")]
    moving += left.plot([], [], "-o", color=ground.text(COLOURS[0]), linewidth=1.8, markersize=4, zorder=5)
    colours = [ground.text(COLOURS[rank % len(COLOURS)]) for rank in range(ranks)]
    for colour in colours:
        moving += right.plot([], [], "-o", color=colour, linewidth=2.4, markersize=4)
    moving += right.plot([], [], "-", color=ground.ink, linewidth=3.4)
    handles = [Line2D([], [], color=colour, linewidth=3) for colour in [*colours, ground.ink]]
    labels = [*(f"rank {rank}" for rank in range(ranks)), "the step of all"]
    figure.legend(handles, labels, loc="outside lower center", ncols=ranks + 1, labelcolor="linecolor")

    def move(frame: int) -> None:
        moving[0].set_text(f"step {frame + 1}, its parts" if frame < len(points) - 1 else "what one more would be")
        moving[1].set_data(*points[: frame + 1].T)
        for rank in range(ranks):
            moving[2 + rank].set_data(*chains[frame, rank : rank + 2].T)
        moving[2 + ranks].set_data(*chains[frame, [0, ranks]].T)

    return Stills(filmed(figure, moving, move, len(points)))
