"""A film of a parameter server and two workers, one of them slow: its gradient is of parameters that are no more."""

from __future__ import annotations

from typing import NamedTuple

from course.figures.contrast import ink_on
from course.figures.drawing import arrow, box, line, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

SERVER, WORKER, STALE = COLOURS[2], COLOURS[0], COLOURS[4]
WIDTH, HEIGHT = 600, 214
ROWS = (40, 132)  # tops of the workers


class Scene(NamedTuple):
    """A moment. version: the server's. has: the version with which each worker computes; None: with none yet.

    moves: by worker, "pull" or "push". late: whether what is pushed is stale.
    """

    version: int
    has: tuple[int | None, int | None]
    moves: dict[int, str]
    told: str
    late: bool = False


SCENES = (
    Scene(
        0, (None, None), {}, "The server has version 0 of the parameters. It has two workers, and the second is slow."
    ),
    Scene(0, (0, 0), {0: "pull", 1: "pull"}, "Both pull version 0, and begin to compute a gradient."),
    Scene(1, (0, 0), {0: "push"}, "Worker 1 is done, and pushes its gradient. The server steps: version 1."),
    Scene(1, (1, 0), {0: "pull"}, "Worker 1 pulls version 1, and goes on. Worker 2 still computes with version 0."),
    Scene(2, (1, 0), {0: "push"}, "Worker 1 pushes once more: version 2. It has not waited for anybody."),
    Scene(2, (2, 0), {0: "pull"}, "Worker 1 pulls version 2. Now worker 2 is done."),
    Scene(
        3,
        (2, 0),
        {1: "push"},
        "Worker 2 pushes a gradient of version 0, but the server has had two steps since: it is stale, by two steps. "
        "The server takes it all the same: version 3.",
        late=True,
    ),
)


def picture(scene: Scene) -> str:
    """The server on the left, the workers on the right, and what moves between them."""
    shapes = [box(20, 70, 150, 76, SERVER, corner=6), text(95, 102, "the server", ink=ink_on(SERVER))]
    shapes.append(text(95, 128, f"version {scene.version}", 16, bold=True, ink=ink_on(SERVER)))
    for worker, (y, version) in enumerate(zip(ROWS, scene.has, strict=True)):
        fill = STALE if scene.late and worker in scene.moves else WORKER
        shapes += [box(400, y, 180, 54, fill, corner=6), text(490, y + 22, f"worker {worker + 1}", ink=ink_on(fill))]
        doing = "waits" if version is None else f"computes with version {version}"
        shapes.append(text(490, y + 42, doing, 13, ink=ink_on(fill)))
        near, far = (176, 92 + 32 * worker), (394, y + 27)
        if worker in scene.moves:
            move = scene.moves[worker]
            shapes.append(arrow(near, far, INK) if move == "pull" else arrow(far, near, INK))
            shapes.append(text(285, (near[1] + far[1]) / 2 + (-10 if worker == 0 else 22), move, 15, bold=True))
        else:
            shapes.append(line(near, far, FAINT, 1.5))
    alt = f"The server has version {scene.version}. {scene.told}"
    return svg(WIDTH, HEIGHT, alt, *shapes)


def stale_film() -> Film:
    """Worker 1 goes through two steps while worker 2 computes one gradient."""
    return Film("A server, a quick worker and a slow one", [Frame(picture(scene), scene.told) for scene in SCENES])
