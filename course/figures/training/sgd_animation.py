"""Animates paths of SGD with different batch sizes, which advance by samples read."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from course.figures.style import (
    DOTS_PER_INCH,
    SHARPNESS,
    Ground,
    Picture,
    by_theme,
    image_html,
    new_figure,
    on_both_grounds,
)
from course.figures.training.loss_curves import draw_losses, excess_loss, samples_seen
from course.figures.training.loss_surface import RUN_COLOURS, Run, draw_surface, drawable, name_runs, window


class Movie:
    """An animated GIF in a notebook, which needs no network, JavaScript or ffmpeg.

    images: its frames; the last one is shown by itself, as a PNG, to those who asked their system for less motion.
    milliseconds: how long each is shown. alt: what it shows. caption: a text below it. dark: the same for a dark
    ground, if there is one.
    """

    def __init__(self, images: Sequence[Image.Image], milliseconds: Sequence[int], alt: str, caption: str = "") -> None:
        self.gif, self.alt, self.caption = gif(images, milliseconds), alt, caption
        self.width = images[-1].width // SHARPNESS
        stream = io.BytesIO()
        images[-1].save(stream, format="PNG")
        self.still = stream.getvalue()
        self.dark: Movie | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.alt}>"

    def _repr_html_(self) -> str:
        images = self.html if self.dark is None else by_theme(self.html, self.dark.html)
        return f'<figure style="margin: 0">{images}<figcaption>{html.escape(self.caption)}</figcaption></figure>'

    @property
    def html(self) -> str:
        """The animation alone."""
        still = f"data:image/png;base64,{base64.b64encode(self.still).decode()}"
        moving = image_html("gif", base64.b64encode(self.gif).decode(), self.width, self.alt)
        return f'<picture><source media="(prefers-reduced-motion: reduce)" srcset="{still}">{moving}</picture>'


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


def filmed(figure: Picture, moving: Sequence[Artist], move: Callable[[int], None], frames: int) -> list[Image.Image]:
    """An image of `figure` after each `move(frame)`. Redraws only `moving`, so these must be on top of all else."""
    figure.set_dpi(DOTS_PER_INCH * SHARPNESS)
    canvas = FigureCanvasAgg(figure)
    for artist in moving:
        artist.set_animated(True)
    figure.set_facecolor(figure.ground.paper)  # a GIF is opaque
    canvas.draw()
    still = canvas.copy_from_bbox(figure.bbox)
    images = []
    for frame in range(frames):
        canvas.restore_region(still)
        move(frame)
        for artist in moving:
            artist.draw(canvas.get_renderer())
        images.append(Image.fromarray(np.array(canvas.buffer_rgba())).convert("RGB"))
    return images


def gif(images: Sequence[Image.Image], milliseconds: Sequence[int]) -> bytes:
    """A looping GIF of `images`, all with the last one's palette. milliseconds: how long each is shown."""
    palette = images[-1].quantize(128, method=Image.Quantize.MEDIANCUT)
    first, *rest = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    stream = io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=rest, duration=list(milliseconds), loop=0)
    return stream.getvalue()
