"""Two plans for one all-reduce, and nobody knows yet which is done first."""

from __future__ import annotations

from course.figures.drawing import Drawing, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

PLANS = {"a tree: 8 rounds, each with the whole array": (8, 1.0), "a ring: 30 rounds, each with a 16th": (30, 1 / 16)}
START, WHOLE, GAP = 7, 56, 3  # widths: of a start, of the whole array, and between two rounds
LEFT, TOP, ROW, HIGH = 16, 48, 96, 36


def plan_question() -> Drawing:
    """The rounds of a tree and of a ring on 16 ranks: each is a start, and then what is sent."""
    shapes = [text(LEFT, 24, "An all-reduce on 16 ranks", anchor="start", bold=True)]
    for number, (name, (rounds, share)) in enumerate(PLANS.items()):
        y = TOP + number * ROW
        shapes.append(text(LEFT, y + 12, name, anchor="start"))
        for each in range(rounds):
            x = LEFT + each * (START + share * WHOLE + GAP)
            shapes.append(box(x, y + 24, START, HIGH, INK))
            shapes.append(box(x + START, y + 24, share * WHOLE, HIGH, COLOURS[number]))
        shapes.append(text(x + START + share * WHOLE + 14, y + 24 + HIGH - 8, "? ms", 20, "start"))
    y = TOP + 2 * ROW + 8
    shapes += [box(LEFT, y, START, 18, INK), text(LEFT + 18, y + 14, "a start", 14, "start")]
    for number in range(2):
        shapes.append(box(LEFT + 90 + 18 * number, y, 14, 18, COLOURS[number], FAINT))
    shapes.append(text(LEFT + 130, y + 14, "what is sent. How wide is each?", 14, "start"))
    told = "; ".join(PLANS)
    return drawing(620, y + 30, f"An all-reduce on 16 ranks by two plans. {told}. How long does each take?", *shapes)
