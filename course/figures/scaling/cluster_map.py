"""A cluster: you, a login node, the queue, and compute nodes with their GPUs; and how a job gets through them."""

from __future__ import annotations

from typing import NamedTuple

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

NODES, GPUS = 4, 3
LOGIN, QUEUE, GPU, BUSY = COLOURS[4], COLOURS[5], COLOURS[2], COLOURS[0]
WIDTH, HEIGHT = 668, 276


class Scene(NamedTuple):
    """A moment. before: jobs before yours in the queue; None: yours has left it. on: what is written on the GPUs.

    ours: whether the nodes are yours. script: whether the script runs on the first node. asked: a line at the bottom.
    """

    before: int | None
    ours: bool = False
    script: bool = False
    on: str = "GPU {gpu}"
    asked: str = ""


def shapes_of(scene: Scene) -> list[str]:
    """From left to right: where you type, where jobs wait, and four nodes with three GPUs each."""
    shapes = [box(14, 112, 60, 40, edge=INK, thickness=2, corner=6), text(44, 138, "you")]
    shapes += [box(112, 102, 104, 60, LOGIN, corner=6), text(164, 138, "login node", ink=ink_on(LOGIN))]
    shapes += [arrow((78, 132), (108, 132)), arrow((220, 132), (254, 132)), arrow((368, 132), (398, 132))]
    shapes += [text(313, 96, "the queue", 14), text(530, 22, "compute nodes", 14)]
    if scene.before is not None:
        for place in range(scene.before + 1):
            mine = place == scene.before
            shapes.append(box(330 - place * 36, 112, 32, 40, INK if mine else QUEUE, corner=4))
        shapes.append(text(346 - scene.before * 36, 172, "your job", 14))
    for node in range(NODES):
        y = 34 + node * 58
        edge, thickness = (INK, 3) if scene.ours else (FAINT, 1.5)
        shapes.append(box(406, y, 248, 50, edge=edge, thickness=thickness, corner=8))
        shapes.append(text(416, y + 23, f"node {node}", 14, "start"))
        if scene.script and node == 0:
            shapes.append(text(416, y + 41, "script", 13, "start", bold=True))
        for gpu in range(GPUS):
            x, fill = 474 + gpu * 58, GPU if scene.on == "GPU {gpu}" else BUSY
            words = scene.on.format(gpu=gpu, rank=node * GPUS + gpu)
            shapes += [box(x, y + 9, 52, 32, fill, corner=4), text(x + 26, y + 30, words, 13, ink=ink_on(fill))]
    if scene.asked:
        shapes.append(text(164, 232, scene.asked, 17, bold=True))
    return shapes


def cluster_map() -> Drawing:
    """The question: twelve ranks are to run here; where is rank 7?"""
    alt = (
        "You type on a login node. Jobs wait in a queue, yours behind two others. Then come four compute nodes with "
        "three GPUs each. Twelve ranks are to run there. On which GPU rank 7 does is asked."
    )
    return drawing(WIDTH, HEIGHT, alt, *shapes_of(Scene(2, asked="rank 7 of 12: on which GPU?")))


SCENES = {
    "You type sbatch, and your job is in the queue, behind two others. You may log out.": Scene(2),
    "The others have started. Yours is the next one.": Scene(0),
    "Four nodes are free, and Slurm gives them to your job. For its time they are yours alone.": Scene(None, True),
    "The script runs: once, on the first node.": Scene(None, True, True),
    "Its line with srun starts twelve copies of the program, three on each node.": Scene(None, True, True, "copy"),
    "Each copy reads SLURM_PROCID, and knows which rank it is of the twelve.": Scene(None, True, True, "rank {rank}"),
    "And SLURM_LOCALID says which GPU of its node it takes. Rank 7 is local rank 1 on node 2.": Scene(
        None, True, True, "local {gpu}"
    ),
    "The job is over. The nodes go to the next one, and what was written stays on the disk.": Scene(None),
}


def job_film() -> Film:
    """A job on its way from `sbatch` to its end."""
    frames = [Frame(svg(WIDTH, HEIGHT, told, *shapes_of(scene)), told) for told, scene in SCENES.items()]
    return Film("A job of twelve ranks", frames)
