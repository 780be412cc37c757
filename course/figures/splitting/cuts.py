"""A model that is too large for each of the GPUs, and three ways to cut the work: samples, layers, columns."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.splitting.memory_bars import PARTS
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

GB, BAR = 4.4, 40  # width of a gigabyte, height of a bar
BYTES = {"weights": 4, "gradients": 4, "optimizer": 8}  # that training keeps for each weight, with Adam in float32
EDGE, PANEL, TOP, SIDE = 6, 236, 62, 120  # around the picture, from panel to panel, the matrices' top and height
WIDE, BATCH, STEP = 34, 26, 44  # of a layer, of the batch, and from layer to layer
LAYERS = 4


def too_large(billions: float, gpus: int, gigabytes: float) -> Drawing:
    """What training keeps of a model, above the memories that there are, on one scale.

    billions: of weights. gpus: how many, of so many gigabytes each.
    """
    parts = {part: count * billions for part, count in BYTES.items()}
    total = sum(parts.values())
    title = f"{billions:g} billion weights, in training: {total:g} GB, and activations"
    shapes = [text(EDGE, 20, title, 15, "start", bold=True)]
    left = EDGE
    for part, size in parts.items():
        fill, words = PARTS[part], f"{'Adam' if part == 'optimizer' else part} {size:g}"
        shapes.append(box(left, 32, size * GB, BAR, fill))
        shapes.append(text(left + size * GB / 2, 57, words, 13, ink=ink_on(fill)))
        left += size * GB
    shapes.append(box(left + 3, 32, 110, BAR, edge=PARTS["activations"], thickness=2))
    shapes.append(text(left + 58, 57, "activations ?", 14))
    shapes.append(text(EDGE, 108, f"{gpus} GPUs of {gigabytes:g} GB", 15, "start", bold=True))
    for gpu in range(gpus):
        x = EDGE + gpu * (gigabytes * GB + 8)
        shapes += (
            box(x, 120, gigabytes * GB, BAR, edge=FAINT, thickness=2, corner=5),
            text(x + gigabytes * GB / 2, 148, "?", 24),
        )
    alt = f"{title}: {', '.join(f'{part} {size:g} GB' for part, size in parts.items())}. Below, {gpus} empty GPUs of "
    width = 2 * EDGE + max(total * GB + 114, gpus * (gigabytes * GB + 8))
    return drawing(width, 168, f"{alt}{gigabytes:g} GB each.", *shapes)


def three_cuts(ranks: int = 4) -> Drawing:
    """A batch and a network of four layers, three times: what is cut has the ranks' colours and numbers."""
    panels = (
        ("Data parallel", "every rank has all layers"),
        ("Pipeline", "every rank has some layers"),
        ("Tensor parallel", "a part of every layer"),
    )
    shapes = []
    for number, (name, words) in enumerate(panels):
        left = EDGE + number * PANEL
        shapes += text(left, 18, name, 15, "start", bold=True), text(left, 38, words, 13, "start")
        shapes += strips(left, BATCH, ranks) if number == 0 else whole(left, BATCH)
        shapes.append(text(left + BATCH / 2, TOP + SIDE + 17, "batch", 13))
        shapes.append(text(left + STEP + 2 * STEP - 5, TOP + SIDE + 17, f"{LAYERS} layers", 13))
        shapes.append(arrow((left + BATCH + 3, TOP + SIDE / 2), (left + STEP - 2, TOP + SIDE / 2)))
        for layer in range(LAYERS):
            x = left + STEP * (layer + 1)
            if number == 0:
                shapes += whole(x, WIDE)
            elif number == 1:
                shapes += part((x, TOP, WIDE, SIDE), layer * ranks // LAYERS)
            else:
                shapes += strips(x, WIDE, ranks)
    alt = (
        f"A batch and {LAYERS} layers, cut for {ranks} ranks in three ways. Data parallel: the batch is cut, and the "
        "layers are on all ranks. Pipeline: each rank has a layer, and the batch goes through all of them. Tensor "
        "parallel: each rank has a part of every layer, and the batch is on all ranks."
    )
    return drawing(2 * EDGE + 3 * PANEL - 16, TOP + SIDE + 26, alt, *shapes)


def whole(x: float, width: float) -> list[str]:
    """What is on all ranks."""
    return [box(x, TOP, width, SIDE, edge=INK, thickness=1.2)]


def strips(x: float, width: float, ranks: int) -> list[str]:
    """What is cut, a part below the other."""
    high = SIDE / ranks
    return [each for rank in range(ranks) for each in part((x, TOP + rank * high, width, high - 2), rank)]


def part(place: tuple[float, float, float, float], rank: int) -> list[str]:
    """What one rank has. place: left, top, width and height."""
    x, y, width, height = place
    fill = COLOURS[rank % len(COLOURS)]
    return [box(x, y, width, height, fill), text(x + width / 2, y + height / 2 + 5, str(rank), 14, ink=ink_on(fill))]
