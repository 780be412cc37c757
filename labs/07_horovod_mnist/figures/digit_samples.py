"""Images of digits in rows, with captions."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

GAP = 0.2  # between two images, in widths of an image
BELOW = 0.5  # room for the caption below an image, in heights of an image


@on_both_grounds
def digits_picture(
    images: Tensor,
    captions: Sequence[object],
    title: str,
    columns: int = 10,
    rows: Sequence[str] = (),
    wrong: Collection[int] = (),
    *,
    ground: Ground,
) -> Picture:
    """Draw `images` [n, 1, H, W], `columns` per row, with a caption below each. Values: 0, the ground, to 1, the ink.

    rows: names of the rows, in the colours of ranks. wrong: indices of the images to highlight.
    """
    count = math.ceil(len(images) / columns)
    alt = f"{title}: {len(images)} images of handwritten digits, said to be {', '.join(map(str, captions))}."
    size = 7.4 / (columns + 1.2 * bool(rows))
    figure, axes = new_figure(width=7.6, height=0.35 + count * size * (1 + BELOW) / (1 + GAP), alt=alt, ground=ground)
    ink = LinearSegmentedColormap.from_list("ink", [ground.paper, ground.ink])
    for index, (image, caption) in enumerate(zip(images, captions, strict=True)):
        left, top = index % columns * (1 + GAP), index // columns * (1 + BELOW)
        colour = ground.text(COLOURS[1]) if index in wrong else ground.ink
        axes.imshow(image[0].numpy(), cmap=ink, vmin=0, vmax=1, extent=(left, left + 1, top + 1, top))
        axes.text(left + 0.5, top + 1.08, str(caption), ha="center", va="top", fontsize=8, color=colour)
        if index in wrong:
            axes.plot([left, left + 1, left + 1, left, left], [top, top, top + 1, top + 1, top], color=colour)
    for row, name in enumerate(rows):
        axes.text(
            -0.3, row * (1 + BELOW) + 0.5, name, ha="right", va="center", color=ground.text(COLOURS[row % len(COLOURS)])
        )
    axes.set_xlim(-0.1, columns * (1 + GAP))
    axes.set_ylim(count * (1 + BELOW), -0.1)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.axis("off")
    axes.set_title(title)
    return figure
