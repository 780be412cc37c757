"""Two sites with a thin wire between them, and how long the gradients of a step take on each kind of wire."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.drawing import Drawing, box, drawing, line, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, EDGE, SITE, TALL = 408, 8, 150, 104  # of the picture, its margin, and of a site
GPU, TOP, ROW, BAR = 26, 26, 50, 18


def two_sites(gigabytes: float, wires: Mapping[str, float], step: float) -> Drawing:
    """The sites, and below them a bar for each wire: the seconds in which it carries the gradients.

    gigabytes: of gradients. wires: GB/s by name, in one direction. step: seconds that a step computes, a line across
    the bars. Raises ValueError for no wire, or one without bandwidth.
    """
    if not wires or min(wires.values()) <= 0:
        raise ValueError(f"each wire needs a bandwidth above 0: {dict(wires)}")
    right = WIDTH - EDGE - SITE
    shapes = [line((EDGE + SITE, TOP + TALL / 2), (right, TOP + TALL / 2), INK, 2)]
    for name, left in (("site A", EDGE), ("site B", right)):
        shapes.append(text(left + SITE / 2, TOP - 8, name, 15, bold=True))
        shapes.append(box(left, TOP, SITE, TALL, edge=INK, corner=8))
        for node in range(2):
            shapes += drawn_node(left + 12, TOP + 12 + node * 46)
        middle = left + SITE / 2
        shapes.append(line((middle, TOP + 12 + 34), (middle, TOP + 12 + 46), INK, 5))
    seconds = {name: gigabytes / speed for name, speed in wires.items()}
    scale = (WIDTH - 2 * EDGE) / max(*seconds.values(), step)
    first = TOP + TALL + 50
    shapes.append(text(EDGE, first - 22, f"{gigabytes:g} GB of gradients take", 15, "start", bold=True))
    for number, (name, taken) in enumerate(seconds.items()):
        y = first + number * ROW
        shapes.append(text(EDGE, y + 12, f"{name}, {wires[name]:g} GB/s", 15, "start"))
        shapes.append(text(WIDTH - EDGE, y + 12, in_seconds(taken), 15, "end", bold=True))
        shapes.append(box(EDGE, y + 18, max(taken * scale, 1), BAR, COLOURS[0] if taken <= step else COLOURS[1]))
        at = EDGE + step * scale
        shapes.append(line((at, y + 15), (at, y + 21 + BAR), INK, 2.5))
    below = first + len(seconds) * ROW + 12
    shapes.append(text(EDGE, below, f"upright line: a step computes for {step:g} s", 15, "start"))
    told = "; ".join(f"{name}, at {wires[name]:g} GB/s: {in_seconds(taken)}" for name, taken in seconds.items())
    alt = f"Two sites of four GPUs, with one thin wire between them. {gigabytes:g} GB of gradients take {told}. "
    return drawing(WIDTH, below + 8, alt + f"A step computes for {step:g} s.", *shapes)


def drawn_node(x: float, y: float) -> list[str]:
    """A node of two GPUs, with a thick wire between them."""
    wide = SITE - 24
    gpus = x + 10, x + wide - 10 - GPU
    shapes = [box(x, y, wide, GPU + 8, edge=FAINT, corner=4)]
    shapes.append(line((gpus[0], y + 4 + GPU / 2), (gpus[1], y + 4 + GPU / 2), INK, 8))
    return shapes + [box(at, y + 4, GPU, GPU, COLOURS[2]) for at in gpus]


def in_seconds(taken: float) -> str:
    """In two digits."""
    return f"{taken:.0f} s" if taken >= 10 else f"{taken:.2g} s"
