"""Who talks by whom: from your script down to the wire."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT

ROWS = (
    (("your script", 250, 180),),
    (("mpi4py", 20, 140), ("Horovod", 250, 180), ("torch.distributed", 480, 180)),
    (("MPI: Open MPI, MPICH", 20, 230), ("gloo", 330, 110), ("NCCL", 520, 140)),
    (("memory, Ethernet, InfiniBand", 20, 420), ("NVLink, PCIe, network", 470, 190)),
)
LINKS = (
    ((300, 52), (110, 90)), ((340, 52), (340, 90)), ((380, 52), (560, 90)),
    ((90, 134), (110, 172)), ((290, 134), (190, 172)), ((350, 134), (380, 172)), ((410, 134), (550, 172)),
    ((530, 134), (420, 172)), ((600, 134), (600, 172)), ((500, 134), (235, 172)),
    ((120, 216), (140, 254)), ((385, 216), (380, 254)), ((590, 216), (575, 254)),
)  # fmt: skip
FILLS = (COLOURS[4], COLOURS[5], COLOURS[2], "none")


def libraries() -> Drawing:
    """The layers, with an arrow for "uses"."""
    shapes = [arrow(start, end, FAINT, 1.5) for start, end in LINKS]
    for row, (boxes, fill) in enumerate(zip(ROWS, FILLS, strict=True)):
        for name, x, width in boxes:
            shapes.append(box(x, 10 + row * 82, width, 42, fill, FAINT, 1.5, 6))
            words = {} if fill == "none" else {"ink": ink_on(fill)}
            shapes.append(text(x + width / 2, 36 + row * 82, name, 15, **words))
    alt = "Your script uses mpi4py, Horovod or torch.distributed; these use MPI, gloo or NCCL; and these use the wires."
    return drawing(680, 312, alt, *shapes)
