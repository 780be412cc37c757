"""Films in a notebook: animated GIFs, which need no network, JavaScript or ffmpeg, and images to step through."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from course.figures.player import Film, Frame
from course.figures.style import DOTS_PER_INCH, SHARPNESS, Picture, by_theme, image_html


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


class Stills:
    """The images of a film on one ground. dark: the same for a dark ground, if there is one."""

    def __init__(self, images: Sequence[Image.Image]) -> None:
        self.images = images
        self.dark: Stills | None = None

    def html(self, number: int, alt: str) -> str:
        """One of them, as WebP, which takes a third of a PNG. alt: what it shows."""
        image, stream = self.images[number], io.BytesIO()
        image.save(stream, format="WEBP", lossless=True)
        own = image_html("webp", base64.b64encode(stream.getvalue()).decode(), image.width // SHARPNESS, alt)
        return own if self.dark is None else by_theme(own, self.dark.html(number, alt))


def film_of(name: str, stills: Stills, captions: Sequence[str]) -> Film:
    """Images to step through. name: what they show. captions: of each."""
    return Film(name, [Frame(stills.html(number, said), said) for number, said in enumerate(captions)])


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
    """A looping GIF of `images`, all with one palette: that of some of them. milliseconds: how long each is shown."""
    some = [np.asarray(images[place * (len(images) - 1) // 4]) for place in range(5)]
    palette = Image.fromarray(np.concatenate(some)).quantize(128, method=Image.Quantize.MEDIANCUT)
    first, *rest = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    stream = io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=rest, duration=list(milliseconds), loop=0)
    return stream.getvalue()
