"""Formats of floating-point numbers: their bits, their largest number, and the numbers that they have from 1 to 2."""

from __future__ import annotations

from math import log2

import torch

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, box, drawing, line, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, EDGE, TOP, ROW, BIT = 408, 8, 44, 92, 12  # of the picture, its margin, a row, and a bit
NAMES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "FP8 E5M2": torch.float8_e5m2,
    "FP8 E4M3": torch.float8_e4m3fn,
}
PARTS = {"sign": COLOURS[6], "exponent": COLOURS[4], "fraction": COLOURS[5]}
DRAWN = 128  # numbers between 1 and 2 that can be told apart; more are a band


def bits(kind: torch.dtype) -> tuple[int, int, int]:
    """How many bits a format has for the sign, for the exponent, and for the fraction."""
    about = torch.finfo(kind)
    fraction = round(-log2(about.eps))
    return 1, about.bits - 1 - fraction, fraction


def formats_picture() -> Drawing:
    """A row for each format."""
    shapes, left, told = [], EDGE, []
    for part, colour in PARTS.items():
        shapes += box(left, 8, 13, 13, colour), text(left + 18, 20, part, 15, "start")
        left += 44 + 8 * len(part)
    for number, (name, kind) in enumerate(NAMES.items()):
        y, own = TOP + number * ROW, bits(kind)
        most = torch.finfo(kind).max
        largest = f"{most:,.0f}" if most < 1e6 else f"{most:.0e}".replace("e+", "e")
        shapes.append(text(EDGE, y + 12, name, 15, "start", bold=True))
        shapes.append(text(WIDTH - EDGE, y + 12, f"up to {largest}", 15, "end"))
        x = EDGE
        for count, colour in zip(own, PARTS.values(), strict=True):
            shapes += (box(x + bit * BIT, y + 19, BIT - 1.5, 17, colour) for bit in range(count))
            if count > 1:
                shapes.append(text(x + count * BIT / 2, y + 33, str(count), 14, ink=ink_on(colour)))
            x += count * BIT
        shapes += numbers_from_one(2 ** own[2], y + 48)
        told.append(f"{name}: {own[1]} bits of exponent, {own[2]} of fraction, up to {largest}")
    alt = f"Bits of number formats, and the numbers that they have from 1 to 2. {'; '.join(told)}."
    return drawing(WIDTH, TOP + len(NAMES) * ROW, alt, *shapes)


def numbers_from_one(steps: int, y: float) -> list[str]:
    """A scale from 1 to 2, with a stroke for each number, or a band if they are too many."""
    first, last = EDGE + 14, WIDTH - EDGE - 14
    shapes = [line((first, y + 12), (last, y + 12), FAINT, 1)]
    shapes += text(EDGE, y + 10, "1", 14, "start"), text(WIDTH - EDGE, y + 10, "2", 14, "end")
    if steps > DRAWN:
        return [*shapes, box(first, y, last - first, 12, INK)]
    for number in range(steps + 1):
        at = first + number * (last - first) / steps
        shapes.append(line((at, y), (at, y + 12), INK, 2 if steps < 32 else 1))
    return shapes
