"""Which layers' weights a rank holds, moment by moment of a step: a film of what was noted in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course.figures.collectives.time_picture import in_units
from course.figures.drawing import box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import EDGE, FAINT, INK

WHOLE, SHARD, BEFORE = COLOURS[0], COLOURS[5], COLOURS[6]
WIDTH, TOP, HIGH, FLOOR = 740, 40, 120, 190  # of the picture; of the layers' columns; the line on which these stand
LINE, TALL = 214, 70  # top and height of the curve of all bytes


@dataclass(frozen=True)
class Moment:
    """One moment of a step on one rank. what: what begins, in words. shards, weights: by layer, bytes of its shards,
    and of its own parameters."""

    what: str
    shards: Sequence[int]
    weights: Sequence[int]

    @property
    def held(self) -> int:
        """Bytes in all."""
        return sum(self.shards) + sum(self.weights)


def held_film(moments: Sequence[Moment], whole: Sequence[int]) -> Film:
    """The film. moments: of one rank, in order. whole: bytes of each layer's weights. Raises ValueError without
    moments."""
    if not moments:
        raise ValueError("a film of no moments")
    frames = []
    for number, moment in enumerate(moments):
        there = [str(layer) for layer, size in enumerate(moment.weights) if size]
        which = f"the weights of layer {' and '.join(there)} are there" if there else "no layer's weights are there"
        caption = f"{moment.what}: {which}. The rank holds {in_units(moment.held)} of {in_units(sum(whole))}."
        frames.append(Frame(picture(moments, number, whole, caption), caption))
    return Film(f"what a rank holds of {len(whole)} layers in a step", frames)


def picture(moments: Sequence[Moment], number: int, whole: Sequence[int], alt: str) -> str:
    """A column for each layer at this moment, and below them all bytes up to it."""
    moment, across, most = moments[number], (WIDTH - 20) / len(whole), max(whole)
    shapes = [text(10, 22, moment.what, 16, "start", bold=True, ink=INK)]
    for layer, size in enumerate(whole):
        x, wide = 10 + layer * across, across - 24
        high = HIGH * size / most
        shapes.append(box(x, FLOOR - high, wide, high, edge=EDGE, thickness=1.5))
        if moment.weights[layer]:
            shapes.append(box(x, FLOOR - high, wide * min(1, moment.weights[layer] / size), high, WHOLE))
        shapes.append(box(x, FLOOR - high, wide * min(1, moment.shards[layer] / size), high, SHARD, INK, 1))
        shapes.append(text(x + wide / 2, FLOOR + 17, f"layer {layer}", 14))
    return svg(WIDTH, LINE + TALL + 26, alt, *shapes, *curve(moments, number, sum(whole)), *legend())


def curve(moments: Sequence[Moment], number: int, total: int) -> list[str]:
    """All bytes by moment, up to this one, below a line for the whole model."""
    across = (WIDTH - 20) / len(moments)
    shapes = [box(10, LINE, WIDTH - 20, TALL, edge=FAINT)]
    for place, moment in enumerate(moments[: number + 1]):
        high = min(TALL, TALL * moment.held / total)
        shapes.append(
            box(10 + place * across, LINE + TALL - high, across - 2, high, WHOLE if place == number else BEFORE)
        )
    return shapes


def legend() -> list[str]:
    """What the colours and the frame are."""
    below = LINE + TALL + 18
    words = ("its shards", SHARD), ("whole weights", WHOLE)
    shapes = [text(WIDTH - 10, below, "frame: the whole model's weights", 13, "end")]
    for place, (name, fill) in enumerate(words):
        shapes += [box(10 + 130 * place, below - 11, 12, 12, fill), text(28 + 130 * place, below, name, 13, "start")]
    return shapes
