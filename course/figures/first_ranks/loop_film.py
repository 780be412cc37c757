"""A loop shared by two ranks: each fills its part of c and its own sum, and in the end the sums meet."""

from __future__ import annotations

from dataclasses import dataclass, field

from course.figures.contrast import ink_on
from course.figures.drawing import arrow, box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

A, B = (0, 1, 2, 3), (4, 5, 6, 7)
RANKS = 2
RANK_COLOURS = (COLOURS[5], COLOURS[4])
SIDE, WIDE = 44, 340


@dataclass
class Memory:
    """What one rank has."""

    c: list[int] = field(default_factory=lambda: [0] * len(A))
    sum: int = 0
    now: int | None = None  # the index at which it works


def picture(memories: list[Memory], alt: str, together: bool = False) -> str:
    """The memories side by side. together: whether the sums are under way to each other."""
    shapes = []
    for rank, memory in enumerate(memories):
        left = 10 + rank * WIDE
        shapes.append(box(left, 30, WIDE - 30, 236, edge=FAINT, thickness=1.5, corner=8))
        shapes.append(text(left + 4, 20, f"rank {rank}, its own memory", 15, "start", bold=True))
        for row, (name, values) in enumerate((("a", A), ("b", B), ("c", memory.c))):
            y = 46 + row * 54
            shapes.append(text(left + 26, y + 28, name, 17))
            for index, value in enumerate(values):
                x = left + 56 + index * 58
                done = name == "c" and value
                at = index == memory.now
                fill = RANK_COLOURS[rank] if done else "none"
                shapes.append(box(x, y, SIDE, SIDE, fill, INK if at else FAINT, 3 if at else 1, 4))
                shapes.append(text(x + SIDE / 2, y + 29, str(value), 18, ink=ink_on(fill) if done else INK))
        whole = memory.sum == sum(A) + sum(B)
        fill = COLOURS[2] if whole else RANK_COLOURS[rank] if memory.sum else "none"
        shapes.append(text(left + 30, 237, "sum", 17))
        shapes.append(box(left + 56, 210, 72, SIDE, fill, FAINT, 1, 4))
        shapes.append(text(left + 92, 239, str(memory.sum), 20, bold=True, ink=ink_on(fill) if fill != "none" else INK))
    if together:
        shapes.append(arrow((140, 224), (WIDE + 62, 224)))
        shapes.append(arrow((WIDE + 62, 242), (140, 242)))
    return svg(20 + RANKS * WIDE - 30, 276, alt, *shapes)


def loop_film() -> Film:
    """The film."""
    memories, share = [Memory() for _ in range(RANKS)], len(A) // RANKS
    words = "Both ranks have whole arrays a and b, of their own. c and sum are zero."
    frames = [Frame(picture(memories, words), words)]
    for step in range(share):
        for rank, memory in enumerate(memories):
            memory.now = rank * share + step
            memory.c[memory.now] = A[memory.now] + B[memory.now]
            memory.sum += memory.c[memory.now]
        told = ", ".join(f"rank {rank} at index {memory.now}" for rank, memory in enumerate(memories))
        words = f"At the same time: {told}. The sums are {memories[0].sum} and {memories[1].sum}."
        frames.append(Frame(picture(memories, words), words))
    for memory in memories:
        memory.now = None
    words = "The loop is over. Nobody has the whole sum, and each rank's c is half empty."
    frames.append(Frame(picture(memories, words), words))
    words = "All-reduce: each sum goes to the other rank, and both add up."
    frames.append(Frame(picture(memories, words, together=True), words))
    total = sum(memory.sum for memory in memories)
    for memory in memories:
        memory.sum = total
    words = f"Both ranks have {total}. The arrays c are as they were: nobody asked for them."
    frames.append(Frame(picture(memories, words), words))
    return Film("a loop of four steps on two ranks", frames)
