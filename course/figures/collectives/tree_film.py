"""A reduce by a tree, and the broadcast that makes an all-reduce of it: numbers meet, and their sum returns."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.contrast import ink_on
from course.figures.drawing import arc, box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

NUMBERS = (3, 1, 4, 1, 5, 9, 2, 6)
PARTIAL, WHOLE = COLOURS[5], COLOURS[2]
SIDE, STEP, TOP = 58, 86, 104


def pairs(size: int) -> list[list[tuple[int, int]]]:
    """The rounds of the reduce: who sends to whom. size: a power of 2."""
    spans = [2**power for power in range((size - 1).bit_length())]
    return [[(rank + span, rank) for rank in range(0, size, 2 * span)] for span in spans]


def picture(values: Sequence[tuple[int, int]], idle: set[int], sent: Sequence[tuple[int, int]], alt: str) -> str:
    """One round. values: by rank, a sum and how many numbers are in it. idle: ranks that are done. sent: from, to."""
    size, shapes = len(values), []
    for rank, (value, count) in enumerate(values):
        x = 10 + rank * STEP
        whole = count == size
        fill = WHOLE if whole else PARTIAL if count > 1 else "none"
        if rank in idle and not whole:
            fill = "none"
        shapes.append(box(x, TOP, SIDE, SIDE, fill, FAINT, 1.5, 6))
        ink = INK if fill == "none" else ink_on(fill)
        shapes.append(text(x + SIDE / 2, TOP + 38, str(value), 24, bold=rank not in idle or whole, ink=ink))
        shapes.append(text(x + SIDE / 2, TOP + SIDE + 22, f"rank {rank}"))
    for source, target in sent:
        height = 12 + 7 * abs(source - target)
        near = 8 if source > target else -8  # an arrow ends beside the one that leaves
        ends = [(10 + rank * STEP + SIDE / 2 + aside, TOP - 4) for rank, aside in ((source, -near), (target, near))]
        shapes.append(arc(*ends, height))
    return svg(20 + size * STEP - STEP + SIDE, TOP + SIDE + 34, alt, *shapes)


def tree_film(numbers: Sequence[int] = NUMBERS) -> Film:
    """The film. numbers: one for each rank; as many as a power of 2."""
    size, values, idle = len(numbers), [(number, 1) for number in numbers], set()
    told = ", ".join(map(str, numbers))
    frames = [Frame(picture(values, idle, [], f"The ranks' numbers: {told}."), "Each rank has a number of its own.")]
    plan = pairs(size)
    for number, sent in enumerate(plan, 1):
        for source, target in sent:
            values[target] = (values[target][0] + values[source][0], values[target][1] + values[source][1])
            idle |= {source}
        words = f"Reduce, round {number}: {len(sent)} message{'s' * (len(sent) > 1)}. "
        words += (
            "Who receives adds; who has sent is done." if number < len(plan) else f"Rank 0 has all: {values[0][0]}."
        )
        frames.append(Frame(picture(values, idle, sent, f"{words} Rank 0 has {values[0][0]}."), words))
    for number, backwards in enumerate(reversed(plan), 1):
        sent = [(target, source) for source, target in backwards]
        for source, target in sent:
            values[target] = values[source]
        words = f"Broadcast, round {number}: the same arrows backwards. "
        words += f"{sum(count == size for _, count in values)} of {size} ranks have the sum."
        frames.append(Frame(picture(values, idle, sent, words), words))
    return Film(f"a reduce by a tree on {size} ranks, and a broadcast", frames)
