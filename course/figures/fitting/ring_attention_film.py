"""Attention whose keys go around a ring: which block of scores each rank computes in which round."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WIDTH, LEFT, TOP, CELL = 440, 74, 56, 48  # the grid's upper left corner, and the side of a block of scores


def ring_attention_film(ranks: int = 4) -> Film:
    """The film. Raises ValueError for fewer than two ranks, or more than there are colours."""
    if not 2 <= ranks <= len(COLOURS) - 1:
        raise ValueError(f"a ring of 2 to {len(COLOURS) - 1} ranks can be drawn, not one of {ranks}")
    words = ["Rank r has the queries, keys and values of block r of the sequence, and nothing else."]
    words.append("Each rank compares its queries with its own keys, and keeps a sum and the largest score so far.")
    for step in range(2, ranks + 1):
        last = " Now each has met all keys, and divides by its sum." if step == ranks else ""
        words.append(f"Round {step}: keys and values have moved {step - 1} rank{'s' * (step > 2)} on.{last}")
    return Film(
        f"ring attention on {ranks} ranks",
        [Frame(frame(ranks, done, told), told) for done, told in enumerate(words)],
    )


def held(rank: int, step: int, ranks: int) -> int:
    """Whose keys a rank has in a round, the first of which is round 1."""
    return (rank - (step - 1)) % ranks


def frame(ranks: int, done: int, words: str) -> str:
    """The blocks of scores after so many rounds; a row is a rank's queries, a column a block of keys."""
    shapes = [text(LEFT + ranks * CELL / 2, 18, "keys and values of block", 14)]
    shapes.append(text(4, TOP - 10, "queries", 14, "start"))
    side = LEFT + ranks * CELL + 24
    shapes.append(text(side, TOP - 10, "the rank has now", 14, "start"))
    told = []
    for rank in range(ranks):
        shapes.append(text(LEFT + (rank + 0.5) * CELL, TOP - 10, str(rank), 14))
        shapes.append(text(4, TOP + (rank + 0.6) * CELL, f"rank {rank}", 14, "start"))
        met = {held(rank, step, ranks): step for step in range(1, done + 1)}
        for block in range(ranks):
            x, y = LEFT + block * CELL, TOP + rank * CELL
            fill = COLOURS[block] if block in met else "none"
            now = done and met.get(block) == done
            shapes.append(box(x, y, CELL - 4, CELL - 4, fill, INK if now else FAINT, 3 if now else 1))
            if block in met:
                shapes.append(text(x + CELL / 2 - 2, y + CELL / 2 + 3, str(met[block]), 15, ink=ink_on(fill)))
        own = held(rank, max(done, 1), ranks)
        shapes.append(box(side, TOP + rank * CELL + 6, 30, 30, COLOURS[own]))
        shapes.append(text(side + 15, TOP + rank * CELL + 26, str(own), 15, ink=ink_on(COLOURS[own])))
        told.append(f"rank {rank} has the keys of block {own}")
    below = TOP + ranks * CELL + 16
    shapes.append(text(4, below, "In a block of scores: the round in which it is computed.", 14, "start"))
    return svg(WIDTH, below + 8, f"{words} {'; '.join(told)}.", *shapes)
