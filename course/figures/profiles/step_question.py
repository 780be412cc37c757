"""A step, and beside it the time that its arithmetic would take at the machine's peak."""

from __future__ import annotations

from course.figures.drawing import Drawing, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import EDGE, INK

WIDTH, MARGIN, TOP, BAR, ROW = 408, 8, 24, 30, 84


def step_question(step: float, arithmetic: float) -> Drawing:
    """Two bars, one below the other, on one scale.

    step: milliseconds that a step takes. arithmetic: those that its operations would take at the peak. Raises
    ValueError unless 0 < arithmetic < step.
    """
    if not 0 < arithmetic < step:
        raise ValueError(f"arithmetic takes a part of a step: not {arithmetic:g} of {step:g} ms")
    scale = (WIDTH - 2 * MARGIN) / step
    first, second = TOP + 12, TOP + 12 + ROW
    missing = step - arithmetic
    shapes = [
        text(MARGIN, TOP, f"one step: {step:g} ms", anchor="start", bold=True),
        box(MARGIN, first, step * scale, BAR, COLOURS[5], INK),
        text(MARGIN, second - 12, f"its arithmetic, at the peak: {arithmetic:g} ms", anchor="start", bold=True),
        box(MARGIN, second, arithmetic * scale, BAR, COLOURS[0], INK),
        box(MARGIN + arithmetic * scale, second, missing * scale, BAR, edge=EDGE),
        text(MARGIN + (arithmetic + missing / 2) * scale, second + 21, f"and the other {missing:g} ms?"),
    ]
    alt = f"Two bars. A step takes {step:g} ms; at the machine's peak, its arithmetic would take {arithmetic:g} ms."
    return drawing(WIDTH, second + BAR + 8, alt, *shapes)
