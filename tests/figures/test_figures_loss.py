"""Pictures of lines, of the loss, and of paths on it: what is drawn is what was given, and all of it can be read."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import torch
from legibility import Drawn, cut_off, overlaps
from matplotlib.figure import Figure
from PIL import Image

from course.figures.training.loss_curves import loss_picture, samples_seen, samples_until, steps_until
from course.figures.training.loss_surface import (
    best_line,
    drawable,
    lines_picture,
    mean_squared_error,
    paths_picture,
    slopes_picture,
)
from course.figures.training.sgd_animation import paths_movie

X = torch.linspace(-1, 3, 12, dtype=torch.float64)
Y = 1.5 * X - 0.5 + torch.cos(7 * X)
START = (-2.0, 1.5)


def slopes(m: float, n: float, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """The gradient of the mean squared error."""
    error = 2 * (m * x + n - y)
    return (error * x).mean().item(), error.mean().item()


def descent(batch_size: int, epochs: int = 3, lr: float = 0.05) -> tuple[int, torch.Tensor]:
    """A run in the order in which the samples lie: enough for a picture."""
    path = [START]
    for _ in range(epochs):
        for batch in torch.arange(len(X)).split(batch_size):
            by_m, by_n = slopes(*path[-1], X[batch], Y[batch])
            path.append((path[-1][0] - lr * by_m, path[-1][1] - lr * by_n))
    return batch_size, torch.tensor(path, dtype=X.dtype)


RUNS = [descent(size) for size in (1, 5, 12)]
FIGURES = {
    "lines": lambda: lines_picture(X, Y, {"A": (-1.0, 3.0), "B": (0.4, 0.6), "C": (1.4, -0.2)}),
    "slopes": lambda: slopes_picture(X, Y, slopes, best_line(X, Y).tolist()),
    "paths": lambda: paths_picture(X, Y, RUNS),
    "losses": lambda: loss_picture(X, Y, RUNS),
}


def test_overlapping_and_cut_off_words_are_found() -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "one")
    figure.text(0.51, 0.5, "two")
    figure.text(0.97, 0.2, "a long label")
    assert overlaps(Drawn(figure)) == [("one", "two")]
    assert cut_off(Drawn(figure)) == ["a long label"]


def test_each_line_is_drawn_through_the_samples_and_as_a_point_on_the_loss() -> None:
    left, right = FIGURES["lines"]().axes
    assert len(left.collections[0].get_offsets()) == len(X)
    assert [len(line.get_xdata()) for line in left.get_lines()] == [2, 2, 2]
    assert [tuple(line.get_xydata()[0]) for line in right.get_lines()][1:] == [(-1.0, 3.0), (0.4, 0.6), (1.4, -0.2)]
    assert right.get_lines()[0].get_xydata()[0] == pytest.approx(best_line(X, Y).tolist())


def test_arrows_against_a_right_gradient_lead_downhill() -> None:
    quiver = FIGURES["slopes"]().axes[0].collections[-1]
    points = torch.tensor(quiver.get_offsets(), dtype=X.dtype)
    arrows = torch.stack([torch.as_tensor(quiver.U), torch.as_tensor(quiver.V)], 1) * torch.tensor([2.6, 4.0])
    assert len(points) == 48
    assert (mean_squared_error(X, Y, points + 1e-4 * arrows) < mean_squared_error(X, Y, points)).all()


def test_the_surface_shows_all_points_of_all_paths() -> None:
    axes = FIGURES["paths"]().axes[0]
    drawn = [len(line.get_xdata()) for line in axes.get_lines()]
    for _, path in RUNS:
        assert len(path) in drawn
        assert (path[:, 0] > axes.get_xlim()[0]).all() and (path[:, 0] < axes.get_xlim()[1]).all()


def test_a_path_that_runs_away_is_drawn_to_where_it_is_lost() -> None:
    away = torch.tensor([START, (5.0, -9.0), (-1e8, 1e9), (float("nan"), 0.0)], dtype=X.dtype)
    assert len(drawable([(1, away)])[0][1]) == 2
    for draw in (paths_picture, loss_picture):
        assert draw(X, Y, [*RUNS[1:], (1, away)]).png()


def test_samples_are_counted_with_the_smaller_last_batch() -> None:
    assert samples_seen(6, samples=12, batch_size=5).tolist() == [0, 5, 10, 12, 17, 22, 24]
    assert samples_seen(2, samples=12, batch_size=40).tolist() == [0, 12, 24]


def test_losses_are_drawn_against_the_samples_read() -> None:
    lines = FIGURES["losses"]().axes[0].get_lines()
    for _, path in RUNS:
        curve = next(line for line in lines if len(line.get_xdata()) == len(path))
        assert curve.get_xdata()[-1] == 36


def test_losses_are_drawn_against_the_steps_of_the_shortest_run() -> None:
    axes = FIGURES["losses"]().axes[1]
    drawn = [line.get_xdata()[-1] for line in axes.get_lines()]
    for _, path in RUNS:
        assert len(path) - 1 in drawn
    assert axes.get_xlim() == (0, 3)


def test_a_run_that_never_comes_near_the_least_loss_has_no_number() -> None:
    path = torch.stack([torch.tensor(START, dtype=X.dtype), best_line(X, Y)])
    assert samples_until(X, Y, (5, path)) == 5 and steps_until(X, Y, (5, path)) == 1
    assert samples_until(X, Y, (5, path[:1])) is None and steps_until(X, Y, (5, path[:1])) is None


@pytest.mark.thorough
def test_the_animation_moves_and_needs_neither_network_nor_scripts() -> None:
    movie = paths_movie(X, Y, RUNS, frames=12)
    image = Image.open(io.BytesIO(movie.gif))
    assert image.n_frames >= 10
    assert image.width == 2 * movie.width
    first = image.convert("RGB").tobytes()
    image.seek(image.n_frames - 1)
    assert image.convert("RGB").tobytes() != first
    html = movie._repr_html_()
    assert "http" not in html and "script" not in html
    assert len(html) < 3e6
    assert movie.caption in html


@pytest.mark.thorough
def test_who_wants_no_motion_sees_the_end_of_the_animation() -> None:
    movie = paths_movie(X, Y, RUNS, frames=12)
    still, image = Image.open(io.BytesIO(movie.still)).convert("RGB"), Image.open(io.BytesIO(movie.gif))
    image.seek(image.n_frames - 1)
    assert still.size == image.size
    apart = np.abs(np.asarray(still, dtype=int) - np.asarray(image.convert("RGB"), dtype=int))
    assert apart.mean() < 3, "but for the GIF's 128 colours it is the last frame"
    data = base64.b64encode(movie.still).decode()
    calm = f'<source media="(prefers-reduced-motion: reduce)" srcset="data:image/png;base64,{data}">'
    assert calm in movie._repr_html_()


def test_the_animation_has_the_ground_of_the_theme() -> None:
    movie = paths_movie(X, Y, RUNS, frames=4)
    for each, paper in ((movie, (255, 255, 255)), (movie.dark, (17, 17, 17))):
        corner = Image.open(io.BytesIO(each.still)).convert("RGB").getpixel((2, 2))
        assert corner == paper
        first = Image.open(io.BytesIO(each.gif)).convert("RGB").getpixel((2, 2))
        assert max(abs(one - other) for one, other in zip(first, paper, strict=True)) <= 6
    html = movie._repr_html_()
    assert html.count("data:image/gif") == html.count(f'alt="{movie.alt}"') == 2
    assert html.count(movie.caption) == 1
