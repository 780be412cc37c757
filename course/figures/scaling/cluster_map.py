"""A cluster: you, a login node, the queue, and compute nodes with their GPUs; where is rank 7?"""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

NODES, GPUS = 4, 3
LOGIN, QUEUE, GPU = COLOURS[4], COLOURS[5], COLOURS[2]


def cluster_map() -> Drawing:
    """From left to right: where you type, where jobs wait, and four nodes with three GPUs each."""
    shapes = [box(14, 112, 60, 40, edge=INK, thickness=2, corner=6), text(44, 138, "you")]
    shapes += [box(112, 102, 104, 60, LOGIN, corner=6), text(164, 138, "login node", ink=ink_on(LOGIN))]
    shapes += [arrow((78, 132), (108, 132)), arrow((220, 132), (254, 132))]
    for place, job in enumerate(("job", "job", "yours")):
        x = 330 - place * 36
        shapes.append(box(x, 112, 32, 40, QUEUE if job == "job" else INK, corner=4))
    shapes += [text(313, 96, "the queue", 14), text(274, 172, "your job", 14), arrow((368, 132), (398, 132))]
    shapes.append(text(530, 22, "compute nodes", 14))
    for node in range(NODES):
        y = 34 + node * 58
        shapes.append(box(406, y, 248, 50, edge=FAINT, thickness=1.5, corner=8))
        shapes.append(text(416, y + 30, f"node {node}", 14, "start"))
        for gpu in range(GPUS):
            x = 474 + gpu * 58
            shapes.append(box(x, y + 9, 52, 32, GPU, corner=4))
            shapes.append(text(x + 26, y + 30, f"GPU {gpu}", 13, ink=ink_on(GPU)))
    shapes.append(text(164, 232, "rank 7 of 12: on which GPU?", 17, bold=True))
    alt = (
        "You type on a login node. Jobs wait in a queue, yours behind two others. Then come four compute nodes with "
        "three GPUs each. Twelve ranks are to run there. On which GPU does rank 7?"
    )
    return drawing(668, 276, alt, *shapes)
