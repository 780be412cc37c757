"""The mean squared error of lines y = m x + n over the plane (m, n), and the paths of runs over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from course.figures.style import COLOURS, DARK, LIGHT, Ground, Picture, new_figure, on_both_grounds, quiet_grid

Run = tuple[int, torch.Tensor]  # batch size, and path [steps + 1, 2] of points (m, n)

RUN_COLOURS = (COLOURS[1], COLOURS[0], COLOURS[2], *COLOURS[3:])
# On both grounds, darker means larger.
SLOPES = MappingProxyType(
    {
        LIGHT: LinearSegmentedColormap.from_list("slopes", ["#F7F8F6", "#DCE4E6", "#B4C4CC", "#8AA1AF"]),
        DARK: LinearSegmentedColormap.from_list("slopes", ["#414D55", "#313A40", "#23292D", "#17191B"]),
    }
)
CONTOURS = MappingProxyType({LIGHT: LIGHT.paper, DARK: "#66727A"})


def mean_squared_error(x: torch.Tensor, y: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """The loss [...] on x, y [n] of the lines (m, n) in `points` [..., 2]."""
    return ((points[..., :1] * x + points[..., 1:] - y) ** 2).mean(-1)


def best_line(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The line (m, n) [2] of least loss, by least squares."""
    columns = torch.stack([x, torch.ones_like(x)], 1)
    return torch.linalg.lstsq(columns, y[:, None]).solution[:, 0]


def window(points: torch.Tensor, margin: float = 0.12) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of m and n that hold `points` [k, 2]. margin: added on each side, as a share of a range's width."""
    low, high = points.min(0).values, points.max(0).values
    pad = (high - low).clamp(min=0.5) * margin
    (m_low, n_low), (m_high, n_high) = (low - pad).tolist(), (high + pad).tolist()
    return (m_low, m_high), (n_low, n_high)


def draw_surface(
    axes: Axes, x: torch.Tensor, y: torch.Tensor, ranges: Sequence[tuple[float, float]], ground: Ground
) -> None:
    """Draw contours of the loss, the darker the larger; each is twice as far above the least as the one before.

    ranges: of m and n.
    """
    m, n = (torch.linspace(low, high, 160, dtype=x.dtype) for low, high in ranges)
    grid = torch.stack(torch.meshgrid(m, n, indexing="xy"), -1)
    best = best_line(x, y)
    loss = mean_squared_error(x, y, grid)
    least = mean_squared_error(x, y, best)
    height = torch.log2((loss - least) / least + 2**-6)
    levels = torch.arange(-5, float(height.max()) + 1).tolist()
    axes.contourf(m, n, height, levels=[-99.0, *levels], cmap=SLOPES[ground], vmin=levels[0], vmax=levels[-1], zorder=0)
    axes.contour(m, n, height, levels=levels, colors=CONTOURS[ground], linewidths=0.8, linestyles="solid", zorder=1)
    axes.plot(*best.tolist(), marker="+", markersize=11, markeredgewidth=1.8, color=ground.ink, zorder=6)
    axes.set(xlim=ranges[0], ylim=ranges[1], xlabel="slope m", ylabel="intercept n")


def note(
    axes: Axes,
    text: str,
    point: Sequence[float],
    offset: tuple[float, float],
    ground: Ground,
    colour: str | None = None,
) -> None:
    """Write a text next to a point. offset: from the point, in typographic points. colour: None for the ink's."""
    side = "left" if offset[0] >= 0 else "right"
    axes.annotate(
        text, tuple(point), offset, textcoords="offset points", ha=side, va="center", fontsize=9.5, zorder=8,
        color=ground.text(colour or ground.ink), path_effects=(withStroke(linewidth=3, foreground=ground.paper),),
    )  # fmt: skip


@on_both_grounds
def lines_picture(x: torch.Tensor, y: torch.Tensor, lines: Mapping[str, Sequence[float]], *, ground: Ground) -> Picture:
    """Left: the samples x, y [n] and some lines; right: the same lines as points on the loss.

    lines: name -> (m, n).
    """
    figure, (left, right) = new_figure(
        8.6,
        3.9,
        columns=(1, 1.15),
        alt="Samples with lines through them, and the same lines as points on the loss.",
        ground=ground,
    )
    points = torch.tensor([tuple(line) for line in lines.values()], dtype=x.dtype)
    draw_surface(right, x, y, window(torch.cat([points, best_line(x, y)[None]]), margin=0.28), ground)
    left.scatter(x, y, s=16, color=ground.faint, linewidths=0, alpha=0.9)
    ends = torch.stack([x.min(), x.max()])
    for (name, (m, n)), colour in zip(lines.items(), COLOURS, strict=False):
        left.plot(ends, m * ends + n, color=colour, linewidth=2.2)
        note(left, name, (float(ends[1]), float(m * ends[1] + n)), (6, 0), ground, colour)
        right.plot(m, n, marker="o", markersize=9, color=colour, markeredgecolor=ground.paper, zorder=7)
        loss = float(mean_squared_error(x, y, torch.tensor([m, n], dtype=x.dtype)))
        note(right, f"{name}: loss {loss:.2g}", (m, n), (-9 if m > sum(right.get_xlim()) / 2 else 9, 8), ground)
    left.set(xlabel="x", ylabel="y", title="Each line ...", xlim=(float(ends[0]) - 0.2, float(ends[1]) + 0.6))
    right.set_title("... is one point (m, n) of the loss")
    quiet_grid(left)
    return figure


@on_both_grounds
def slopes_picture(
    x: torch.Tensor, y: torch.Tensor, gradient: Callable, centre: Sequence[float], *, ground: Ground
) -> Picture:
    """Arrows against `gradient(m, n, x, y) -> (dm, dn)` at some points; with a correct gradient they lead downhill.

    centre: (m, n) at the centre of the picture. All arrows have the same length.
    """
    figure, axes = new_figure(
        6.2, 4.4, alt="The loss, with an arrow against the gradient at each of 48 points.", ground=ground
    )
    (m0, n0), (half_m, half_n) = centre, (2.6, 4.0)
    draw_surface(axes, x, y, ((m0 - half_m, m0 + half_m), (n0 - half_n, n0 + half_n)), ground)
    m = torch.linspace(m0 - 0.88 * half_m, m0 + 0.88 * half_m, 8, dtype=x.dtype)
    n = torch.linspace(n0 - 0.88 * half_n, n0 + 0.88 * half_n, 6, dtype=x.dtype)
    points = torch.cartesian_prod(m, n)
    slopes = torch.tensor([[float(d) for d in gradient(a, b, x, y)] for a, b in points.tolist()], dtype=x.dtype)
    arrows = -slopes / torch.tensor([half_m, half_n])  # in units of the picture, as the axes have different scales
    arrows /= arrows.norm(dim=1, keepdim=True)
    axes.quiver(*points.T, *arrows.T, color=ground.text(COLOURS[0]), pivot="mid", scale=16, width=0.0045, zorder=5)
    axes.set_title("Against your gradient: does each arrow lead downhill?")
    return figure


def draw_path(axes: Axes, path: torch.Tensor, colour: str, ground: Ground) -> None:
    """Draw path [steps + 1, 2]: thin if it has many steps, with dots if it has few; with a larger dot at its end."""
    few = len(path) < 60
    width = 2.0 if few else 1.5 if len(path) < 300 else 0.8
    axes.plot(*path.T, color=colour, linewidth=width, marker="o" if few else None, markersize=4, zorder=5)
    axes.plot(*path[-1], marker="o", markersize=8, color=colour, markeredgecolor=ground.paper, zorder=7)


def drawable(runs: Sequence[Run], limit: float = 1e3) -> list[Run]:
    """Runs that figures can draw: without autograd history, and cut where a path leaves [-limit, limit] or is NaN."""
    cut = []
    for batch_size, path in runs:
        path = torch.as_tensor(path).detach()
        outside = (~(path.abs() <= limit).all(1)).nonzero()
        cut.append((batch_size, path[: max(1, int(outside[0, 0]))] if len(outside) else path))
    return cut


@on_both_grounds
def paths_picture(x: torch.Tensor, y: torch.Tensor, runs: Sequence[Run], *, ground: Ground) -> Picture:
    """The loss, and the path of each run over it. All runs start at the same point; a larger dot marks each end."""
    runs = drawable(runs)
    figure, axes = new_figure(7.6, 4.8, alt="Paths of SGD with several batch sizes over the loss.", ground=ground)
    draw_surface(axes, x, y, window(torch.cat([path for _, path in runs])), ground)
    for (_, path), colour in zip(runs, RUN_COLOURS, strict=False):
        draw_path(axes, path, ground.text(colour), ground)
    name_runs(figure, len(x), runs, ground)
    note(axes, "start", runs[0][1][0].tolist(), (-9, 0), ground)
    axes.set_title(f"The same samples, the same learning rate, {len(runs)} batch sizes")
    return figure


def name_runs(figure: Picture, samples: int, runs: Sequence[Run], ground: Ground) -> None:
    """Draw a legend below the figure, with batch size and number of steps of each run."""
    handles = [Line2D([], [], color=ground.text(colour), linewidth=3) for colour in RUN_COLOURS[: len(runs)]]
    labels = [f"batch size {size}{' (all)' if size >= samples else ''}: {len(path) - 1} steps" for size, path in runs]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(runs), labelcolor="linecolor")
