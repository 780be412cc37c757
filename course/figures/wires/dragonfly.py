"""From a GPU to the other end of the machine: links inside of a node, and groups of nodes that are all connected."""

from __future__ import annotations

from itertools import combinations, pairwise

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, box, drawing, line, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT

GPU, CPU, SWITCH = COLOURS[2], COLOURS[4], COLOURS[5]


def dragonfly() -> Drawing:
    """Left, one node of four GPUs; right, three groups of nodes, connected like a dragonfly."""
    alt = "A node: four GPUs, each linked to each other one by NVLink, and by PCIe to the processor and a network card."
    alt += (
        " Beside it a dragonfly: three groups, in each of which all switches are linked, with a link between any two."
    )
    return drawing(720, 330, alt, *node(), *groups())


def node() -> list[str]:
    """A node of four GPUs: each is linked to each other one by NVLink, and to processor and network card by PCIe."""
    corners = [(36, 64), (132, 64), (36, 148), (132, 148)]
    shapes = [box(14, 40, 320, 210, edge=FAINT, thickness=1.5, corner=8), text(174, 26, "one node", bold=True)]
    middles = [(x + 26, y + 18) for x, y in corners]
    shapes += [line(one, other, GPU, 4) for one, other in combinations(middles, 2)]
    # PCIe goes around the GPUs on the left.
    paths = [[(62, 64), (62, 52), (212, 52)], [(184, 82), (212, 82)], [(62, 184), (62, 196), (212, 196)]]
    paths += [[(184, 166), (212, 166)], [(212, 52), (212, 196)], [(212, 82), (232, 82)], [(212, 166), (232, 166)]]
    shapes += [line(start, end, CPU, 3) for path in paths for start, end in pairwise(path)]
    for number, (x, y) in enumerate(corners):
        shapes += [box(x, y, 52, 36, GPU, corner=4), text(x + 26, y + 23, f"GPU {number}", 13, ink=ink_on(GPU))]
    for y, name, fill in ((64, "processor", CPU), (148, "network card", SWITCH)):
        shapes += [box(232, y, 94, 36, fill, corner=4), text(279, y + 23, name, 13, ink=ink_on(fill))]
    shapes += [line((279, 184), (279, 288), SWITCH, 4), text(291, 284, "network", 14, "start")]
    shapes += [line((36, 217), (60, 217), GPU, 4), text(68, 222, "NVLink", 13, "start")]
    shapes += [line((36, 237), (60, 237), CPU, 3), text(68, 242, "PCIe", 13, "start")]
    return shapes


def groups() -> list[str]:
    """Three groups of four switches."""
    corners = {"group 1": (400, 56), "group 2": (574, 56), "group 3": (487, 206)}
    inside = [(8, 8), (68, 8), (8, 54), (68, 54)]
    shapes = [text(536, 26, "a dragonfly", bold=True)]
    joints = [((468, 64), (582, 64)), ((468, 110), (495, 214)), ((582, 110), (555, 214))]
    shapes += [line(start, end, FAINT, 2.5) for start, end in joints]
    for name, (x, y) in corners.items():
        shapes.append(box(x - 10, y - 10, 96, 82, edge=FAINT, thickness=1.5, corner=8))
        nodes = [(x + a, y + b) for a, b in inside]
        shapes += [line(one, other, SWITCH, 2) for one, other in combinations(nodes, 2)]
        shapes += [box(a - 7, b - 7, 14, 14, SWITCH, corner=7) for a, b in nodes]
        shapes.append(text(x + 38, y + 92, name, 14))
    return shapes
