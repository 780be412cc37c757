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
    alt = "A node: four GPUs, linked by NVLink, each linked by PCIe to the processor, and a network card."
    alt += (
        " Beside it a dragonfly: three groups, in each of which all switches are linked, with a link between any two."
    )
    return drawing(720, 330, alt, *node(), *groups())


def node() -> list[str]:
    """A node of four GPUs."""
    places = [40 + number * 74 for number in range(4)]
    shapes = [box(14, 40, 320, 210, edge=FAINT, thickness=1.5, corner=8), text(174, 26, "one node", bold=True)]
    shapes += [line((left + 26, 74), (right + 26, 74), GPU, 4) for left, right in pairwise(places)]
    shapes += [line((left + 26, 100), (174, 178), CPU, 3) for left in places]
    for number, left in enumerate(places):
        shapes += [box(left, 56, 52, 44, GPU, corner=4), text(left + 26, 83, f"GPU {number}", 13, ink=ink_on(GPU))]
    shapes += [box(119, 172, 110, 36, CPU, corner=4), text(174, 195, "processor", 14, ink=ink_on(CPU))]
    shapes += [line((174, 208), (174, 288), SWITCH, 4), text(186, 284, "network", 14, "start")]
    shapes += [text(26, 212, "NVLink", 13, "start"), text(26, 236, "PCIe", 13, "start")]
    shapes += [line((78, 207), (102, 207), GPU, 4), line((78, 231), (102, 231), CPU, 3)]
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
