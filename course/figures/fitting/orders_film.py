"""The passes of a pipeline in time, one order of them in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.drawing import box, svg, text
from course.figures.fitting.orders import Block, idle_share, length, most_kept
from course.figures.player import Film, Frame
from course.figures.splitting.clock_picture import FILLS
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, LEFT, TOP, ROW, STRIP = 740, 66, 34, 44, 7
KINDS = {"F": FILLS["F"], "I": FILLS["B"], "W": COLOURS[4]}
NAMES = {"F": "forward", "I": "backward, for the input", "W": "backward, for the weights"}


def orders_film(plans: Mapping[str, Sequence[Sequence[Block]]], guess: float | None = None) -> Film:
    """The film. plans: by name, by rank, its passes, on one scale. guess: percent that ranks are idle in the last."""
    longest = max(map(length, plans.values()))
    frames = []
    for number, (name, blocks) in enumerate(plans.items(), 1):
        words = f"{name}: {length(blocks)} ticks, and a rank is idle for {idle_share(blocks):.0%} of them. "
        words += f"The busiest rank keeps the activations of {most_kept(blocks):g} micro-batches at most."
        if guess is not None and number == len(plans):
            words += f" You guessed {guess:g}%."
        frames.append(Frame(picture(name, blocks, longest, words), words))
    return Film("passes of a pipeline, in several orders", frames)


def picture(name: str, blocks: Sequence[Sequence[Block]], longest: int, alt: str) -> str:
    """A row for each rank. A stripe below a pass: the second stage of its rank. A frame: micro-batch 0."""
    side = (WIDTH - LEFT - 4) / longest
    shapes = [text(4, 20, name, 16, "start", bold=True)]
    for rank, own in enumerate(blocks):
        y = TOP + rank * ROW
        shapes.append(text(4, y + 24, f"rank {rank}", 15, "start"))
        shapes.append(box(LEFT, y, length(blocks) * side, ROW - 8, edge=FAINT))
        first = min(block.stage for block in own)
        for block in own:
            shapes += drawn(block, y, side, block.stage > first)
    x, below = LEFT, TOP + len(blocks) * ROW + 16
    for kind, words in NAMES.items():
        shapes += box(x, below - 12, 13, 13, KINDS[kind]), text(x + 19, below, words, 14, "start")
        x += 34 + 7.2 * len(words)
    shapes.append(text(LEFT, below + 22, "frame: micro-batch 0; stripe: the rank's second stage", 14, "start"))
    return svg(WIDTH, below + 30, alt, *shapes)


def drawn(block: Block, y: float, side: float, second: bool) -> list[str]:
    """A pass; one of both backward parts in two colours."""
    parts = ("I", "W") if block.kind == "B" else (block.kind,)
    wide = (block.end - block.begin) / len(parts) * side
    shapes = []
    for number, kind in enumerate(parts):
        x = LEFT + block.begin * side + number * wide
        frame = (INK, 2.5) if block.micro_batch == 0 else ()
        shapes.append(box(x + 0.5, y + 1, wide - 1.5, ROW - 10, KINDS[kind], *frame))
        if second:
            shapes.append(box(x + 0.5, y + ROW - 9 - STRIP, wide - 1.5, STRIP, INK))
    return shapes
