"""A parameter server and its workers: how much passes its line?"""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WORKERS = 7
SERVER, WORKER = COLOURS[2], COLOURS[0]


def server_question() -> Drawing:
    """One server with the parameters, and seven workers, each of which fetches them and sends a gradient back."""
    shapes = [
        box(20, 118, 128, 64, SERVER, corner=6),
        text(84, 146, "the server:", ink=ink_on(SERVER)),
        text(84, 168, "100 MB", bold=True, ink=ink_on(SERVER)),
        box(196, 140, 96, 20, COLOURS[5], corner=10),
        text(244, 126, "its line: ? MB"),
        arrow((166, 150), (150, 150), INK),
        arrow((176, 150), (194, 150), INK),
    ]
    for worker in range(WORKERS):
        y = 16 + worker * 40
        shapes += [arrow((298, 146), (452, y + 10), FAINT), arrow((452, y + 20), (298, 156), FAINT)]
        shapes.append(box(458, y, 112, 30, WORKER, corner=4))
        shapes.append(text(514, y + 20, f"worker {worker + 1}", 14, ink=ink_on(WORKER)))
    alt = (
        "A server with 100 MB of parameters, and one line, over which seven workers fetch them and send gradients back."
    )
    return drawing(600, 300, alt, *shapes)
