"""Ranks on nodes, one of which dies: who waits, what is lost, and what starts again from the checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, line, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

NODES = ("A", "B", "C")
WIDTH, HEIGHT, EDGE = 620, 276, 10
NODE, GAP, TOP = 190, 15, 30  # width of a node, between two of them, and their top
RANK, TALL = 80, 56  # width and height of a rank's process
DISK, CELL = 176, 34  # top of the disk, and side of a step's cell
AGAIN = COLOURS[4]


@dataclass(frozen=True)
class Scene:
    """A moment. title: in words. at: by rank, its place, twice the node's number plus 0 or 1.

    state: by rank "works", "waits", or "gone". dark: nodes that are lost; why: what is said of them. saved: the step in
    the checkpoint; 0: there is none. made, again, lost: steps that are made, made a second time, and lost. to_disk,
    from_disk: ranks that write or read.
    """

    title: str
    at: Mapping[int, int]
    state: Mapping[int, str]
    saved: int
    made: Collection[int] = ()
    again: Collection[int] = ()
    lost: Collection[int] = ()
    dark: Collection[int] = ()
    to_disk: Collection[int] = ()
    from_disk: Collection[int] = ()
    why: str = "set aside"


def corner(place: int) -> tuple[float, float]:
    """The upper left corner of a process."""
    return EDGE + place // 2 * (NODE + GAP) + 10 + place % 2 * (RANK + 10), TOP + 34


def stripes(x: float, y: float, width: float, height: float, ink: str) -> str:
    """Hatching of a rectangle."""
    lines = []
    for offset in range(10, round(width + height), 10):
        start = x + max(0, offset - height), y + min(offset, height)
        end = x + min(offset, width), y + max(0, offset - width)
        lines.append(line(start, end, ink, 1))
    return "".join(lines)


def process(rank: int, place: int, state: str) -> str:
    """A rank's process: in its colour where it works, hatched where it waits, crossed out where it is gone."""
    x, y = corner(place)
    if state == "gone":
        cross = line((x + 8, y + 8), (x + RANK - 8, y + TALL - 8), INK, 3)
        cross += line((x + RANK - 8, y + 8), (x + 8, y + TALL - 8), INK, 3)
        return box(x, y, RANK, TALL, edge=FAINT, thickness=1.5, corner=6) + cross
    fill = COLOURS[rank % len(COLOURS)]
    if state == "waits":
        shapes = stripes(x, y, RANK, TALL, fill) + box(x, y, RANK, TALL, edge=fill, thickness=2, corner=6)
        plate = box(x + 8, y + TALL / 2 - 13, RANK - 16, 26, fill, corner=4)
    else:
        shapes, plate = box(x, y, RANK, TALL, fill, corner=6), ""
    return shapes + plate + text(x + RANK / 2, y + TALL / 2 + 5, f"rank {rank}", 15, ink=ink_on(fill))


def node(number: int, dark: bool, why: str) -> str:
    """A computer. why: what is said of it if it is lost."""
    x = EDGE + number * (NODE + GAP)
    words = f"node {NODES[number]}" + (f": {why}" if dark else "")
    frame = box(x, TOP, NODE, 102, edge=INK if dark else FAINT, thickness=3 if dark else 1.5, corner=8)
    return frame + text(x + 12, TOP + 22, words, 15, "start", bold=True)


def disk(scene: Scene, steps: Sequence[int]) -> str:
    """The disk that all nodes see, and below it the steps of the run."""
    kept = f"the checkpoint: step {scene.saved}" if scene.saved else "no checkpoint yet"
    shapes = [box(EDGE, DISK, WIDTH - 2 * EDGE, 32, edge=FAINT, thickness=1.5, corner=8)]
    shapes.append(text(EDGE + 12, DISK + 21, f"a disk that all nodes see: {kept}", 15, "start"))
    wide = (WIDTH - 2 * EDGE - 60) / len(steps)
    shapes.append(text(EDGE, DISK + 72, "steps", 15, "start"))
    for place, step in enumerate(steps):
        x, y = EDGE + 60 + place * wide, DISK + 50
        fill = AGAIN if step in scene.again else COLOURS[0] if step in scene.made else "none"
        shapes.append(box(x, y, wide - 6, CELL, fill, FAINT, 1, 4))
        if step in scene.lost:
            shapes.append(stripes(x, y, wide - 6, CELL, FAINT))
        ink = INK if fill == "none" else ink_on(fill)
        shapes.append(text(x + (wide - 6) / 2, y + 23, str(step), 15, ink=ink, bold=step in scene.lost))
    return "".join(shapes)


def shapes_of(scene: Scene, steps: Sequence[int]) -> list[str]:
    """All of a picture."""
    shapes = [text(EDGE, 18, scene.title, 16, "start", bold=True)]
    shapes += [node(number, number in scene.dark, scene.why) for number in range(len(NODES))]
    shapes += [process(rank, place, scene.state[rank]) for rank, place in scene.at.items()]
    for rank in [*scene.to_disk, *scene.from_disk]:
        x, y = corner(scene.at[rank])
        ends = (x + RANK / 2, y + TALL + 4), (x + RANK / 2, DISK - 2)
        shapes.append(arrow(*(ends if rank in scene.to_disk else ends[::-1])))
    return [*shapes, disk(scene, steps)]


def described(scene: Scene) -> str:
    """A picture in words."""
    ranks = ", ".join(
        f"rank {rank} on node {NODES[place // 2]} {scene.state[rank] if scene.state[rank] != 'gone' else 'is gone'}"
        for rank, place in scene.at.items()
    )
    kept = f"The checkpoint has step {scene.saved}." if scene.saved else "There is no checkpoint."
    return f"{scene.title}: {ranks or 'no rank is there'}. {kept}"


HOME = {0: 0, 1: 1, 2: 2, 3: 3}  # where the ranks are at first: on nodes A and B
MOVED = {0: 4, 1: 5, 2: 0, 3: 1}  # and after the restart: on C and A


def half_gone() -> Drawing:
    """The question: two of four ranks are gone, with their node."""
    state = {0: "waits", 1: "waits", 2: "gone", 3: "gone"}
    scene = Scene("Two of four ranks are gone", HOME, state, 20, range(24), (), (), {1}, why="no answer")
    return drawing(WIDTH, HEIGHT, described(scene), *shapes_of(scene, range(19, 27)))


def node_film(rank: int, back: int, last: int) -> Film:
    """The film of a run in which `rank`, one of four, dies in the step after step `last`.

    back: the last step that is in the checkpoint, of which the run begins again. Raises ValueError unless
    0 < back < last <= back + 6, and for a rank that is none of the four.
    """
    if not 0 < back < last <= back + 6 or rank not in HOME:
        raise ValueError(f"No film of rank {rank}, which dies after step {last}, with a checkpoint of step {back}.")
    steps, frames = range(back - 1, max(back + 7, last + 3)), []
    lost = range(back + 1, last + 1)
    of_lost = f"steps {lost[0]} to {last}" if len(lost) > 1 else f"step {last}"

    def frame(words: str, scene: Scene) -> None:
        frames.append(Frame(svg(WIDTH, HEIGHT, described(scene), *shapes_of(scene, steps)), words))

    def all_four(state: str, but: Mapping[int, str] | None = None) -> dict[int, str]:
        return dict.fromkeys(HOME, state) | dict(but or {})

    words = f"Step {back} is made. Rank 0 writes the checkpoint; the others wait until it is there."
    frame(words, Scene(f"Step {back}", HOME, all_four("waits", {0: "works"}), back, range(back + 1), to_disk=[0]))
    for step in lost:
        words = f"Step {step}. All four compute, and meet in the all-reduce."
        frame(words, Scene(f"Step {step}", HOME, all_four("works"), back, range(step + 1)))
    where = HOME[rank] // 2
    words = f"Step {last + 1}. Rank {rank} is gone. The others come to the all-reduce, and wait. Left alone, for ever."
    gone = all_four("waits", {rank: "gone"})
    frame(words, Scene(f"Step {last + 1} is not made", HOME, gone, back, range(last + 1)))
    words = (
        "Whoever started the ranks sees it, and ends the other three as well. What was in their memories is lost: "
        f"{of_lost}. Rank {rank}'s node is set aside, until somebody has looked at it."
    )
    frame(words, Scene("No rank is left", {}, {}, back, range(back + 1), lost=lost, dark={where}))
    words = f"Four new processes, on the nodes that are well. Rank 0 is on node {NODES[MOVED[0] // 2]} now."
    frame(words, Scene("New ranks", MOVED, all_four("works"), back, range(back + 1), lost=lost, dark={where}))
    words = f"All four read the checkpoint. It is on a disk that every node sees, so each finds step {back} in it."
    scene = Scene("They read", MOVED, all_four("works"), back, range(back + 1), (), lost, {where}, (), [*MOVED])
    frame(words, scene)
    for step in lost:
        words = f"Step {step}, for the second time."
        again, left = range(back + 1, step + 1), range(step + 1, last + 1)
        frame(words, Scene(f"Step {step} again", MOVED, all_four("works"), back, range(back + 1), again, left, {where}))
    words = f"Step {last + 1}, for the first time. From here on the run is as if nothing had happened."
    made = {*range(back + 1), last + 1}
    frame(words, Scene(f"Step {last + 1}", MOVED, all_four("works"), back, made, lost, (), {where}))
    return Film(f"Rank {rank} dies after step {last}, and the run goes on from step {back}", frames)
