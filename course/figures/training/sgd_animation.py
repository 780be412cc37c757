"""Animates paths of SGD with different batch sizes, which advance by samples read."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course.figures.film import Movie, filmed
from course.figures.style import Ground, new_figure, on_both_grounds
from course.figures.training.loss_curves import draw_losses, excess_loss, samples_seen
from course.figures.training.loss_surface import RUN_COLOURS, Run, draw_surface, drawable, name_runs, window


@on_both_grounds
def paths_movie(x: torch.Tensor, y: torch.Tensor, runs: Sequence[Run], frames: int = 48, *, ground: Ground) -> Movie:
    """Left: the paths over the loss; right: their losses. At any time, all runs have read as many samples.

    The animation starts slowly, as most happens there. It stays at the last of the `frames` for 3 s.
    """
    alt = "Paths of SGD with several batch sizes, growing with the number of samples they have read."
    runs = drawable(runs)
    figure, (left, right) = new_figure(8.4, 4.1, columns=2, alt=alt, ground=ground)
    draw_surface(left, x, y, window(torch.cat([path for _, path in runs])), ground)
    draw_losses(right, x, y, runs, ground)
    name_runs(figure, len(x), runs, ground)
    seen = [samples_seen(len(path) - 1, len(x), batch_size) for batch_size, path in runs]
    above = [excess_loss(x, y, path) for _, path in runs]
    end = max(int(counts[-1]) for counts in seen)
    for line in right.get_lines():
        line.set_alpha(0.18)
    right.set_title("Their losses")
    moving = [left.set_title("0 samples seen")]
    for colour, (_, path) in zip(map(ground.text, RUN_COLOURS), runs, strict=False):
        moving += left.plot([], [], color=colour, linewidth=0.9 if len(path) > 300 else 1.8)
        for axes in (left, right):
            moving += axes.plot([], [], "o", markersize=8, color=colour, markeredgecolor=ground.paper)

    def move(frame: int) -> None:
        now = round(end * (frame / (frames - 1)) ** 2)
        moving[0].set_text(f"{now} samples seen")
        for number, (_, path) in enumerate(runs):
            here = int((seen[number] <= now).sum()) - 1
            trail, head, height = moving[1 + 3 * number : 4 + 3 * number]
            trail.set_data(*path[: here + 1].T)
            head.set_data(*path[here, :, None])
            height.set_data(seen[number][here, None], above[number][here, None])

    caption = (
        "Left: the paths over the loss. Right: their losses. All runs share one clock: at any moment of the film they "
        "have seen the same number of samples. The clock starts slowly and speeds up."
    )
    return Movie(filmed(figure, moving, move, frames), [80] * (frames - 1) + [3000], alt, caption)
