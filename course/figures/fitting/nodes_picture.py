"""Three cuts at once on nodes: each layer cut within a node, stages from node to node, replicas of all that."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, line, text
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT

GPU, APART, ACROSS, DOWN, EDGE, TOP = 36, 4, 74, 52, 8, 44  # a GPU's side, and what is between GPUs and nodes


def nodes_picture(tensor: int = 4, stages: int = 2, replicas: int = 2) -> Drawing:
    """A node for each stage of each replica, with `tensor` GPUs. Raises ValueError if one of the numbers is below 1.

    A GPU's number is its rank: parts of a layer count first, then stages, then replicas.
    """
    if min(tensor, stages, replicas) < 1:
        raise ValueError("tensor, stages and replicas have to be 1 or more")
    wide, high = tensor * (GPU + APART) + 16, GPU + 38
    width = 2 * EDGE + stages * wide + (stages - 1) * ACROSS
    shapes = []
    for replica in range(replicas):
        for stage in range(stages):
            x, y = EDGE + stage * (wide + ACROSS), TOP + replica * (high + DOWN)
            shapes.append(box(x, y, wide, high, edge=FAINT, thickness=1.5, corner=7))
            shapes.append(text(x + wide / 2, y + 18, f"replica {replica}, stage {stage}", 14))
            for part in range(tensor):
                left, fill = x + 10 + part * (GPU + APART), COLOURS[part % (len(COLOURS) - 1)]
                rank = (replica * stages + stage) * tensor + part
                shapes.append(box(left, y + 27, GPU, GPU, fill))
                shapes.append(text(left + GPU / 2, y + 27 + GPU / 2 + 5, str(rank), 15, ink=ink_on(fill)))
            middle = y + high / 2
            if stage < stages - 1:
                shapes.append(arrow((x + wide + 4, middle), (x + wide + ACROSS - 4, middle)))
                shapes.append(text(x + wide + ACROSS / 2, middle - 8, "pipeline", 14))
            if replica < replicas - 1:
                centre = x + 28
                shapes.append(line((centre, y + high + 4), (centre, y + high + DOWN - 4)))
                shapes.append(text(centre + 8, y + high + DOWN / 2 + 5, "data parallel", 14, "start"))
    shapes.append(
        text(EDGE, 18, f"{tensor} x {stages} x {replicas} = {tensor * stages * replicas} GPUs", 15, "start", True)
    )
    shapes.append(text(EDGE, 37, "colours: parts of each layer, within a node", 14, "start"))
    alt = (
        f"{stages * replicas} nodes of {tensor} GPUs. Within a node, each layer is cut over {tensor} GPUs. A pipeline "
        f"goes over {stages} nodes, and there are {replicas} replicas of it, which sum their gradients."
    )
    return drawing(max(width, 320), TOP + replicas * high + (replicas - 1) * DOWN + 6, alt, *shapes)
