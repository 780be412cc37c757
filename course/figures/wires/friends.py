"""One file, seven friends, one line: the question that the lecture on collectives opens with."""

from __future__ import annotations

from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

FRIENDS = 7


def friends_picture() -> Drawing:
    """You, a file of 5 MB, a line of 1 MB a second, and seven friends."""
    shapes = [
        box(20, 118, 118, 64, INK, corner=6),
        box(250, 140, 96, 20, COLOURS[5], corner=10),
        text(79, 210, "you have 5 MB"),
        text(298, 126, "1 MB a second"),
        arrow((142, 150), (246, 150)),
    ]
    for friend in range(FRIENDS):
        y = 16 + friend * 40
        shapes.append(arrow((350, 150), (500, y + 14), FAINT))
        shapes.append(box(506, y, 46, 28, edge=FAINT, thickness=1.5, corner=3))
        shapes.append(text(566, y + 20, f"friend {friend + 1}", anchor="start"))
    alt = "You have a file of 5 MB, and one line of 1 MB a second, at whose end seven friends wait for the file."
    return drawing(660, 300, alt, *shapes)
