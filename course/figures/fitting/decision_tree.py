"""Which cut for a model on these machines: questions below each other, with the answer beside each."""

from __future__ import annotations

from typing import NamedTuple

from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.fitting.shares import Choice, Setting, fits, node
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, EDGE, ASK, ANSWER, GAP = 400, 4, 176, 172, 44  # widths of the boxes, and of what is between them
TOP, ROW, LINE, SIZE = 22, 84, 18, 14  # the first box, from box to box, from line to line, and letters


class Step(NamedTuple):
    """A question and what to do if its answer is yes; both are lines of text."""

    ask: tuple[str, ...]
    answer: tuple[str, ...]


MEMORY = (
    Step(("Does everything fit", "into one GPU?"), ("Data parallelism:", "the fastest to have")),
    Step(("And with activations", "recomputed?"), ("Data parallelism", "and recomputation")),
    Step(("And with states in", "shares over all GPUs?"), ("ZeRO: the lowest", "stage that fits", "(3 is FSDP)")),
    Step(
        ("And with each layer cut", "over a node's GPUs?"), ("Tensor parallelism in", "the node, ZeRO 3", "around it")
    ),
    Step(("And with the sequence", "cut over nodes, too?"), ("Context parallelism", "on top of that")),
)
NOT = Step(("Else: more GPUs, or a", "smaller model."), ())
SPEED = (
    Step(
        ("It fits, but GPUs wait", "for other nodes?"),
        ("Shares within a node,", "copies across; or a", "pipeline across"),
    ),
    Step(("More GPUs than", "samples in a batch?"), ("Cut samples: tensor,", "context, pipeline")),
    Step(("Does the model have", "experts?"), ("Expert parallelism", "among the copies")),
)


def decided(setting: Setting) -> int | None:
    """The number of the first question of memory that is answered with yes; None if none is."""
    wide = node(setting)
    ways = (
        Choice(),
        Choice(recompute=True),
        Choice(3, recompute=True),
        Choice(3, recompute=True, tensor=wide),
        Choice(3, recompute=True, tensor=wide, context=setting.gpus // wide),
    )
    return next((number for number, way in enumerate(ways) if fits(setting, way)), None)


def decision_tree(setting: Setting | None = None) -> Drawing:
    """The tree; with a setting, what its arithmetic says has a thick frame."""
    reached = decided(setting) if setting else None
    shapes = [text(EDGE, 14, "Memory first", 15, "start", bold=True)]
    for number, step in enumerate(MEMORY):
        shapes += row(TOP + number * ROW, step, number == reached, "no")
    y = TOP + len(MEMORY) * ROW
    shapes += lines(EDGE, y, ASK, NOT.ask, bool(setting) and reached is None)
    y += ROW + 8
    shapes.append(text(EDGE, y, "Then speed: ask each", 15, "start", bold=True))
    for number, step in enumerate(SPEED):
        shapes += row(y + 8 + number * ROW, step, False, "")
    alt = " ".join(f"{' '.join(step.ask)} Then: {' '.join(step.answer)}." for step in MEMORY)
    alt = f"Which cut, by questions. {alt} {' '.join(NOT.ask)} For speed, ask each of these. "
    alt += " ".join(f"{' '.join(step.ask)} Then: {' '.join(step.answer)}." for step in SPEED)
    if setting:
        answer = NOT.ask if reached is None else MEMORY[reached].answer
        alt += f" For {setting.billions:g} billion weights on {setting.gpus} GPUs: {' '.join(answer).rstrip('.')}."
    return drawing(WIDTH, y + 8 + len(SPEED) * ROW - 16, alt, *shapes)


def row(y: float, step: Step, reached: bool, below: str) -> list[str]:
    """A question, and its answer beside it. below: what leads to the next question; empty if nothing does."""
    middle = y + (ROW - 20) / 2
    shapes = lines(EDGE, y, ASK, step.ask, False)
    shapes += lines(EDGE + ASK + GAP, y, ANSWER, step.answer, reached)
    shapes.append(arrow((EDGE + ASK + 3, middle), (EDGE + ASK + GAP - 3, middle)))
    shapes.append(text(EDGE + ASK + GAP / 2 - 2, middle - 7, "yes", SIZE))
    if below:
        shapes.append(arrow((EDGE + 30, y + ROW - 19), (EDGE + 30, y + ROW - 2)))
        shapes.append(text(EDGE + 42, y + ROW - 5, below, SIZE, "start"))
    return shapes


def lines(x: float, y: float, wide: float, words: tuple[str, ...], reached: bool) -> list[str]:
    """A box with lines of text in its middle."""
    high = ROW - 20
    first = y + high / 2 - (len(words) - 1) * LINE / 2 + 5
    edge, thickness = (COLOURS[4], 4) if reached else (INK if words and words[-1].endswith("?") else FAINT, 1.5)
    return [
        box(x, y, wide, high, edge=edge, thickness=thickness, corner=6),
        *(text(x + wide / 2, first + number * LINE, each, SIZE, bold=reached) for number, each in enumerate(words)),
    ]
