"""Where ranks run: nodes, the GPUs in them, and each rank with its number on its node."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

WIDE = 5  # ranks, up to which the columns have room for a line
WIDTH, GAP = 1.0, 0.3  # of a rank's column; between two nodes


@on_both_grounds
def places_picture(nodes: int = 2, ranks: int = 2, *, ground: Ground) -> Picture:
    """Nodes side by side, with as many ranks as GPUs each: each rank stands above the GPU that is its own.

    ranks: on each node.
    """
    places = [(node, local) for node in range(nodes) for local in range(ranks)]
    told = [f"rank {n} on node {node} is local rank {local}, on cuda:{local}" for n, (node, local) in enumerate(places)]
    alt = f"{nodes} nodes with {ranks} ranks and {ranks} GPUs each: {'; '.join(told)}."
    figure, axes = new_figure(min(1.6 * nodes * ranks + 0.8, 7.6), 2.7, alt=alt, ground=ground)
    local_name = "local rank {}" if nodes * ranks <= WIDE else "local\nrank {}"
    for node in range(nodes):
        left = node * (ranks * WIDTH + GAP)
        box(axes, (left, -0.12, ranks * WIDTH, 2.36), ground.paper, edge=ground.faint)
        axes.text(left + ranks * WIDTH / 2, 2.32, f"node {node}", ha="center", va="bottom", fontweight="bold")
        for local in range(ranks):
            number, column = node * ranks + local, left + local * WIDTH
            middle = column + WIDTH / 2
            fill = COLOURS[number % len(COLOURS)]
            box(axes, (column + 0.12, 1.02, WIDTH - 0.24, 1.04), fill)
            ink = ink_on(fill)
            axes.text(middle, 1.73, f"rank {number}", ha="center", va="center", color=ink, fontweight="bold")
            axes.text(middle, 1.32, local_name.format(local), ha="center", va="center", color=ink)
            axes.plot([middle, middle], [0.62, 1.02], color=ground.faint, linewidth=1.5, zorder=1)
            box(axes, (column + 0.22, 0.08, WIDTH - 0.44, 0.54), ground.pale, edge=ground.faint)
            axes.text(middle, 0.35, f"cuda:{local}", ha="center", va="center", color=ground.ink, family="monospace")
    axes.set(xlim=(-0.05, nodes * (ranks * WIDTH + GAP) - GAP + 0.05), ylim=(-0.2, 2.75))
    axes.axis("off")
    return figure


def box(axes: Axes, place: tuple[float, float, float, float], colour: str, edge: str = "none") -> None:
    """Draw a box with round corners. place: left, bottom, width and height."""
    left, bottom, width, height = place
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch((left, bottom), width, height, boxstyle=style, facecolor=colour, edgecolor=edge))
