"""Which rank sits where, by the variables of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.patches import FancyBboxPatch

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds


@on_both_grounds
def task_layout_picture(
    layouts: Mapping[str, Sequence[Mapping[str, str]]], guess: tuple[int, int] | None = None, *, ground: Ground
) -> Picture:
    """Nodes with their ranks, once for each layout. layouts: by name, the variables of each task, by rank.

    guess: node and local rank at which the reader looks for a rank; a frame in the first layout.
    """
    told = {
        name: "; ".join(
            f"{name_of(node, tasks)} has ranks {' '.join(ranks)}" for node, ranks in nodes_of(tasks).items()
        )
        for name, tasks in layouts.items()
    }
    alt = ". ".join(f"Placed {name}: {words}" for name, words in told.items()) + "."
    alt += f" You guessed local rank {guess[1]} on node {guess[0]}." if guess else ""
    figure, drawn = new_figure(7.6, 2.9, columns=len(layouts), alt=alt, ground=ground)
    drawn = drawn if len(layouts) > 1 else (drawn,)
    for axes, (name, tasks) in zip(drawn, layouts.items(), strict=True):
        nodes = nodes_of(tasks)
        most = max(map(len, nodes.values()))
        for number, (node, ranks) in enumerate(nodes.items()):
            frame(axes, (number + 0.05, -0.05, 0.9, most + 0.1), ground.paper, ground.faint)
            axes.text(number + 0.5, -0.14, name_of(node, tasks), ha="center", va="top")
            for local, rank in enumerate(ranks):
                fill = COLOURS[int(rank) % len(COLOURS)]
                frame(axes, (number + 0.13, most - local - 0.94, 0.74, 0.88), fill, "none")
                place = {"ha": "center", "va": "center", "color": ink_on(fill)}
                axes.text(number + 0.5, most - local - 0.36, f"rank {rank}", fontweight="bold", **place)
                axes.text(number + 0.5, most - local - 0.68, f"local rank {local}", fontsize=8.5, **place)
        if guess and axes is drawn[0]:
            node, local = guess
            frame(axes, (node + 0.09, most - local - 0.98, 0.82, 0.96), "none", ground.ink, 3)
            axes.text(node + 0.5, -0.36, "your guess", ha="center", va="top", fontsize=8.5)
        axes.set(xlim=(0, len(nodes)), ylim=(-0.6 if guess else -0.45, most + 0.1), xticks=[], yticks=[])
        axes.set_title(f"Placed {name}")
        axes.axis("off")
    return figure


def nodes_of(tasks: Sequence[Mapping[str, str]]) -> dict[int, list[str]]:
    """The ranks of each node, in the order of their local ranks."""
    places = sorted((int(task["SLURM_NODEID"]), int(task["SLURM_LOCALID"]), task["SLURM_PROCID"]) for task in tasks)
    return {node: [rank for other, _, rank in places if other == node] for node, _, _ in places}


def name_of(node: int, tasks: Sequence[Mapping[str, str]]) -> str:
    """The name of a node, where its tasks know it; else its number."""
    names = [task.get("SLURMD_NODENAME") for task in tasks if int(task["SLURM_NODEID"]) == node]
    return names[0] or f"node {node}"


def frame(axes: object, place: tuple[float, float, float, float], fill: str, edge: str, thickness: float = 1) -> None:
    """A box with round corners. place: left, bottom, width and height."""
    left, bottom, width, height = place
    style = "round,pad=0,rounding_size=0.05"
    look = {"facecolor": fill, "edgecolor": edge, "linewidth": thickness}
    axes.add_patch(FancyBboxPatch((left, bottom), width, height, boxstyle=style, **look))
