"""A weight that some ranks have saved in shards, and that another number of ranks loads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import INK

WIDTH, LEFT, EDGE = 560, 90, 8  # of the picture, of the words at its left, and its margin
TALL, SAVED, LOADED = 40, 30, 118  # height of a row of shards, and the tops of both rows


def reshard_picture(saved: Sequence[int], loaded: Sequence[int]) -> Drawing:
    """Both rows of shards, to one scale; an arrow for each piece of a file that a rank reads. A colour is a file.

    saved, loaded: rows of the weight on each rank, in the order of the ranks. Raises ValueError if both do not have as
    many rows, or if there are more files than colours.
    """
    if sum(saved) != sum(loaded):
        raise ValueError(f"{sum(saved)} rows were saved, and {sum(loaded)} loaded")
    if len(saved) > len(COLOURS):
        raise ValueError(f"up to {len(COLOURS)} files can be drawn, not {len(saved)}")
    scale = (WIDTH - LEFT - EDGE) / sum(saved)
    files, shards = borders(saved), borders(loaded)
    shapes = [
        text(EDGE, SAVED + TALL / 2 + 5, "in files", 15, "start"),
        text(EDGE, LOADED + TALL / 2 + 5, "loaded", 15, "start"),
    ]
    for file, (first, last) in enumerate(files):
        x, wide = LEFT + scale * first, scale * (last - first)
        shapes.append(box(x, SAVED, wide - 1, TALL, COLOURS[file]))
        words = f"of rank {file}: {last - first} rows"
        shapes.append(text(x + wide / 2, SAVED + TALL / 2 + 5, words, 14, ink=ink_on(COLOURS[file])))
    told = []
    for rank, (first, last) in enumerate(shards):
        sources = []
        for file, (begin, end) in enumerate(files):
            low, high = max(first, begin), min(last, end)
            if low < high:
                x, wide = LEFT + scale * low, scale * (high - low)
                shapes.append(box(x, LOADED, wide - 1, TALL, COLOURS[file]))
                shapes.append(arrow((x + wide / 2, SAVED + TALL + 3), (x + wide / 2, LOADED - 4)))
                sources.append(f"{high - low} rows of rank {file}'s file")
        x, wide = LEFT + scale * first, scale * (last - first)
        shapes.append(box(x, LOADED, wide - 1, TALL, edge=INK, thickness=2))
        shapes.append(text(x + wide / 2, LOADED + TALL + 18, f"rank {rank}: {last - first} rows", 14))
        told.append(f"Rank {rank} reads {' and '.join(sources) or 'nothing'}.")
    alt = f"A weight saved by {len(saved)} ranks and loaded by {len(loaded)}. {' '.join(told)}"
    return drawing(WIDTH, LOADED + TALL + 28, alt, *shapes)


def borders(rows: Sequence[int]) -> list[tuple[int, int]]:
    """First row of each rank, and the one after its last."""
    return [*pairwise(accumulate(rows, initial=0))]
