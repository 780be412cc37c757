"""TensorFlow's four arrangements: who holds the variables, and what travels."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

HOLDS, COMPUTES = COLOURS[2], COLOURS[0]
WIDE, HIGH, GAP, EDGE = 340, 176, 14, 6
DEVICE = 62  # side of a device
BOTH = "gradients there, variables back"


def device(x: float, y: float, name: str, holds: bool, computes: bool = True) -> str:
    """A device. holds: whether the variables are on it. computes: whether it goes forward and backward."""
    fill = COMPUTES if computes else "none"
    ink = ink_on(COMPUTES) if computes else INK
    shapes = [box(x, y, DEVICE, DEVICE, fill, FAINT, 1.5, 6), text(x + DEVICE / 2, y + 20, name, 14, ink=ink)]
    if holds:
        shapes.append(box(x + 12, y + 28, DEVICE - 24, 24, HOLDS, ink, 1.2, 3))
        shapes.append(text(x + DEVICE / 2, y + 45, "W", 15, bold=True, ink=ink_on(HOLDS)))
    return "".join(shapes)


def node(x: float, y: float, width: float, name: str) -> str:
    """A node's frame."""
    return box(x, y, width, 104, edge=FAINT, thickness=1.5, corner=8) + text(x + 8, y + 18, name, 13, "start")


def both(start: tuple[float, float], end: tuple[float, float]) -> str:
    """An arrow there and one back."""
    return arrow(start, end, INK) + arrow(end, start, INK)


def panel(number: int, title: str, told: str, *shapes: str) -> str:
    """One arrangement, with its name above and what travels below."""
    x, y = corner(number)
    frame = box(x, y, WIDE, HIGH, edge=FAINT, corner=8)
    head = text(x + 10, y + 20, title, 14, "start", bold=True)
    return frame + head + text(x + WIDE / 2, y + HIGH - 12, told, 13) + "".join(shapes)


def corner(number: int) -> tuple[float, float]:
    """The upper left corner of a panel."""
    return EDGE + number % 2 * (WIDE + GAP), EDGE + number // 2 * (HIGH + GAP)


def mirrored() -> str:
    """One node; the variables are on each GPU."""
    x, y = corner(0)
    shapes = [node(x + 14, y + 32, WIDE - 28, "one node")]
    places = [x + 40 + 99 * each for each in range(3)]
    shapes += [device(place, y + 62, f"GPU {each}", True) for each, place in enumerate(places)]
    shapes += [both((a + DEVICE + 3, y + 93), (a + 96, y + 93)) for a in places[:-1]]
    return panel(0, "MirroredStrategy", "all-reduce of gradients", *shapes)


def central() -> str:
    """One node; the variables are on its processor."""
    x, y = corner(1)
    shapes = [node(x + 14, y + 32, WIDE - 28, "one node")]
    shapes.append(device(x + 139, y + 62, "CPU", True, computes=False))
    shapes += [device(x + place, y + 62, f"GPU {each}", False) for each, place in enumerate((30, 248))]
    shapes.append(both((x + 95, y + 93), (x + 136, y + 93)) + both((x + 204, y + 93), (x + 245, y + 93)))
    return panel(1, "CentralStorageStrategy", BOTH, *shapes)


def many_mirrored() -> str:
    """Two nodes; the variables are on each GPU."""
    x, y = corner(2)
    shapes, places = [], [x + 22, x + 90, x + 188, x + 256]
    for each, place in enumerate((x + 14, x + 180)):
        shapes.append(node(place, y + 32, 146, f"worker {each}"))
    shapes += [device(place, y + 62, f"GPU {each % 2}", True) for each, place in enumerate(places)]
    shapes.append(both((x + 154, y + 84), (x + 186, y + 84)))
    return panel(2, "MultiWorkerMirroredStrategy", "all-reduce of gradients, also between nodes", *shapes)


def server() -> str:
    """A node that holds the variables, and two that compute."""
    x, y = corner(3)
    shapes = [node(x + 10, y + 32, 92, "worker 0"), node(x + 124, y + 32, 92, "server")]
    shapes += [node(x + 238, y + 32, 92, "worker 1"), device(x + 139, y + 62, "CPU", True, computes=False)]
    shapes += [device(x + place, y + 62, "GPU 0", False) for place in (25, 253)]
    shapes.append(both((x + 90, y + 93), (x + 136, y + 93)) + both((x + 204, y + 93), (x + 250, y + 93)))
    return panel(3, "ParameterServerStrategy", BOTH + ", at any time", *shapes)


def strategies_picture() -> Drawing:
    """All four, two by two: blue devices compute, and W marks where the variables are."""
    alt = (
        "TensorFlow's four strategies. Mirrored: one node, variables on each GPU. Central storage: one node, variables "
        "on the processor. Multi-worker mirrored: variables on each GPU of several nodes. Parameter server: variables "
        "on a node of their own, and workers that fetch them."
    )
    width, height = 2 * EDGE + 2 * WIDE + GAP, 2 * EDGE + 2 * HIGH + GAP
    return drawing(width, height, alt, mirrored(), central(), many_mirrored(), server())
