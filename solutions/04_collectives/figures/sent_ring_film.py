"""A ring all-reduce as a film, made of the messages of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course.figures.drawing import box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK
from course.watch.events import Event
from course.watch.messages import messages

SIDE, ACROSS, DOWN = 48, 70, 78
LEFT, TOP = 74, 36
Ranks = list[list[frozenset[int]]]  # by rank and chunk, whose numbers are in it


def numbered_array(rank: int, size: int) -> np.ndarray:
    """An array [size], as `sent_ring_film` wants it: bit N p + r of a number stands for entry p of rank r."""
    return np.array([1 << (size * place + rank) for place in range(size)])


@dataclass(frozen=True)
class Cell:
    """A chunk on its way, with the numbers of these ranks in it."""

    round: int
    source: int
    target: int
    place: int
    ranks: frozenset[int]


def cells_of(events: Sequence[Sequence[Event]]) -> list[Cell]:
    """The chunks that were sent in a run whose arrays were `numbered_array`s. events: by rank."""
    size, found = len(events), []
    for message in messages(events):
        for value in message.values or ():
            bits = [bit for bit in range(size * size) if int(value or 0) >> bit & 1]
            for place in sorted({bit // size for bit in bits}):
                ranks = frozenset(bit % size for bit in bits if bit // size == place)
                found.append(Cell(message.round, message.source, message.destination, place, ranks))
    return found


def sent_ring_film(events: Sequence[Sequence[Event]]) -> Film:
    """A row for each rank, a column for each chunk; a cell has a stripe for each rank whose numbers are in it.

    events: by rank, of a run of an all-reduce of `numbered_array`s.
    """
    size, sent = len(events), cells_of(events)
    rounds = max((cell.round for cell in sent), default=0)
    has = [[frozenset({rank}) for _ in range(size)] for rank in range(size)]
    told = "A row is a rank, a column a chunk of its array, a stripe the numbers of one rank."
    frames = [Frame(picture(has, [], told), told)]
    for number in range(1, rounds + 1):
        came = [cell for cell in sent if cell.round == number]
        for cell in came:
            has[cell.target][cell.place] |= cell.ranks
        told = caption(number, rounds, came, has)
        frames.append(Frame(picture(has, came, told), told))
    return Film(f"an all-reduce on {size} ranks in {rounds} rounds, {len(sent)} chunks sent", frames)


def caption(number: int, rounds: int, came: Sequence[Cell], has: Ranks) -> str:
    """What has happened in a round."""
    whole = sum(len(ranks) == len(has) for row in has for ranks in row)
    copied = all(len(cell.ranks) == len(has) for cell in came)
    doing = "finished chunks are copied on" if copied else "chunks are passed on, and added up"
    return f"Round {number} of {rounds}: {doing}. {whole} of {len(has) ** 2} cells have the numbers of all ranks."


def picture(has: Ranks, came: Sequence[Cell], alt: str) -> str:
    """The cells after a round. came: those that have just come; they have a thick edge, and say from whom."""
    size, shapes = len(has), []
    for place in range(size):
        shapes.append(text(LEFT + place * ACROSS + SIDE / 2, 22, f"chunk {place}", 14))
    for rank, row in enumerate(has):
        y = TOP + rank * DOWN
        shapes.append(text(LEFT - 12, y + SIDE / 2 + 5, f"rank {rank}", 14, "end"))
        for place, ranks in enumerate(row):
            x, width = LEFT + place * ACROSS, SIDE / len(ranks)
            for number, each in enumerate(sorted(ranks)):
                shapes.append(box(x + number * width, y, width, SIDE, COLOURS[each % 7]))
            sources = [cell.source for cell in came if (cell.target, cell.place) == (rank, place)]
            shapes.append(box(x, y, SIDE, SIDE, edge=INK if sources else FAINT, thickness=4 if sources else 1))
            if sources:
                shapes.append(text(x + SIDE / 2, y + SIDE + 16, f"from {sources[0]}", 13))
    return svg(LEFT + size * ACROSS, TOP + size * DOWN, alt, *shapes)
