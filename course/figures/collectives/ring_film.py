"""A ring all-reduce, round by round: cells that fill as the ranks' numbers come in."""

from __future__ import annotations

from course.figures.drawing import arrow, box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

PARTIAL, WHOLE = COLOURS[5], COLOURS[2]
SIDE, ACROSS, DOWN, BETWEEN = 44, 62, 66, 18  # a cell's height, from cell to cell, from rank to rank, and the space
LEFT, TOP = 74, 58
WIDEST = 2  # times as wide as that are the cells of few ranks


def fills(size: int) -> list[list[list[int]]]:
    """After each round, by rank and chunk: how many ranks' numbers are in what this rank has of this chunk."""
    now = [[1] * size for _ in range(size)]
    states = [[row[:] for row in now]]
    for number in range(2 * (size - 1)):
        for rank in range(size):
            chunk = arriving(size, number, rank)
            before = states[-1]
            now[rank][chunk] = before[rank - 1][chunk] + (number < size - 1)
        states.append([row[:] for row in now])
    return states


def arriving(size: int, number: int, rank: int) -> int:
    """The chunk that comes to a rank in a round, both counted from 0."""
    return (rank - number - 2) % size


def picture(state: list[list[int]], came: list[int], alt: str) -> str:
    """The cells after a round. came: by rank, the chunk that has just come; empty before the first round."""
    size, shapes = len(state), []
    across = ACROSS * min(WIDEST, 8 / size)
    wide = across - BETWEEN
    for chunk in range(size):
        shapes.append(text(LEFT + chunk * across + wide / 2, 22, f"chunk {chunk}", 14))
    for rank, row in enumerate(state):
        y = TOP + rank * DOWN
        shapes.append(text(LEFT - 12, y + SIDE / 2 + 5, f"rank {rank}", 14, "end"))
        for chunk, count in enumerate(row):
            x, height = LEFT + chunk * across, SIDE * count / size
            shapes.append(box(x, y + SIDE - height, wide, height, WHOLE if count == size else PARTIAL))
            new = bool(came) and came[rank] == chunk
            shapes.append(box(x, y, wide, SIDE, edge=INK if new else FAINT, thickness=4 if new else 1))
            if new:
                shapes.append(arrow((x + wide / 2, y - 20), (x + wide / 2, y - 4)))
    return svg(LEFT + size * across, TOP + size * DOWN, alt, *shapes)


def ring_film(size: int = 4) -> Film:
    """The film. size: the number of ranks, 2 to 8. Raises ValueError for others."""
    if not 2 <= size <= 8:
        raise ValueError(f"The film shows 2 to 8 ranks, not {size}.")
    frames = []
    for number, state in enumerate(fills(size)):
        came = [arriving(size, number - 1, rank) for rank in range(size)] if number else []
        whole = sum(count == size for row in state for count in row)
        frames.append(Frame(picture(state, came, f"{words(size, number)} Whole cells: {whole}."), words(size, number)))
    return Film(f"an all-reduce around a ring of {size} ranks", frames)


def words(size: int, number: int) -> str:
    """What has happened in a round; number 0 is the start."""
    if number == 0:
        return f"Each rank cuts its array into {size} chunks. A cell is full when the numbers of all ranks are in it."
    chunk = arriving(size, number - 1, 1)
    if number == 1:
        return "Round 1: every rank sends one chunk to the rank below it, which adds. The last rank sends to rank 0."
    if number < size:
        end = " Now each rank has one whole chunk." if number == size - 1 else ""
        return f"Round {number}: every rank sends one chunk down, and adds. Rank 1 got chunk {chunk} from rank 0.{end}"
    end = " All ranks have all chunks." if number == 2 * (size - 1) else ""
    return f"Round {number}: whole chunks are copied on. Rank 1 got chunk {chunk} from rank 0.{end}"
