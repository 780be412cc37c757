"""Which cut for a model on these machines: questions below each other, with the answer beside each."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from course.figures.drawing import Drawing, arrow, box, drawing, text
from course.figures.fitting.advice import advised, in_words, price
from course.figures.fitting.ladder import in_gb
from course.figures.fitting.shares import Choice, Setting, total
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, EDGE, ASK, ANSWER, GAP = 408, 4, 178, 182, 40  # widths of the boxes, and of what is between them
HEAD, ROW, LINE, SIZE = 20, 84, 18, 14  # from line to line of the head, from box to box, in a box; and letters


class Step(NamedTuple):
    """A question and what to do if its answer is yes; both are lines of text."""

    ask: tuple[str, ...]
    answer: tuple[str, ...]


MEMORY = (
    Step(("Does everything fit", "into one GPU?"), ("Data parallelism:", "the fastest to have")),
    Step(
        ("And with the optimizer", "state in shards?"),
        ("ZeRO 1, which is free;", "with one micro-batch,", "ZeRO 2 is, too"),
    ),
    Step(
        ("And with more shards,", "or with activations", "recomputed?"),
        ("The faster: ZeRO 2 or 3", "with many tokens at", "once, else recompute"),
    ),
    Step(("And with both?",), ("ZeRO 3 and", "recomputation")),
    Step(
        ("And with each layer cut", "over GPUs of a node?"),
        ("Tensor parallelism: and", "then from the top again"),
    ),
    Step(
        ("And with the sequence", "cut over nodes, too?"),
        ("Context parallelism: and", "then from the top again"),
    ),
)
NOT = Step(("Else: more GPUs, or a", "smaller model."), ())
SPEED = (
    Step(
        ("It fits, but GPUs wait", "for other nodes?"),
        ("More tokens at once, or", "shards within a node,", "or a pipeline across"),
    ),
    Step(("More GPUs than", "samples in a batch?"), ("Cut samples: tensor,", "context, pipeline")),
    Step(("Does the model have", "experts?"), ("Expert parallelism", "among the replicas")),
)


def question(setting: Setting) -> int | None:
    """The number of the question of memory that is answered with yes; None if none is."""
    choice = advised(setting)
    if choice is None:
        return None
    if choice.context > 1:
        return 5
    if choice.tensor > 1:
        return 4
    if choice.recompute and choice.stage == 3:
        return 3
    if price(setting, choice) != price(setting, Choice()):
        return 2
    return int(choice.stage > 0)


def head(setting: Setting) -> list[str]:
    """What the arithmetic says of a setting, in lines."""
    machines = f"{setting.billions:g} billion weights on {setting.gpus} GPUs of {setting.gigabytes:g} GB"
    choice = advised(setting)
    if choice is None:
        return [f"{machines}:", "nothing fits."]
    return [f"{machines}:", *textwrap.wrap(f"{in_words(choice)}, {in_gb(total(setting, choice))} on each.", 54)]


def decision_tree(setting: Setting | None = None) -> Drawing:
    """The tree; with a setting, what its arithmetic says is at the top, and its answer has a thick frame."""
    reached = question(setting) if setting else None
    told = head(setting) if setting else []
    shapes = [text(EDGE, 14 + HEAD * number, each, SIZE, "start") for number, each in enumerate(told)]
    y = 14 + HEAD * len(told)
    shapes.append(text(EDGE, y, "Memory first", 15, "start", bold=True))
    y += 8
    for number, step in enumerate(MEMORY):
        shapes += row(y + number * ROW, step, number == reached, "no")
    y += len(MEMORY) * ROW
    shapes += lines(EDGE, y, ASK, NOT.ask, bool(setting) and reached is None)
    y += ROW + 8
    shapes.append(text(EDGE, y, "Then speed: ask each", 15, "start", bold=True))
    for number, step in enumerate(SPEED):
        shapes += row(y + 8 + number * ROW, step, False, "")
    alt = " ".join(f"{' '.join(step.ask)} Then: {' '.join(step.answer)}." for step in MEMORY)
    alt = f"Which cut, by questions. {alt} {' '.join(NOT.ask)} For speed, ask each of these. "
    alt += " ".join(f"{' '.join(step.ask)} Then: {' '.join(step.answer)}." for step in SPEED)
    alt += f" {' '.join(told)}" * bool(told)
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
