"""A ring all-reduce as a film, made of the messages of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from course.figures.film import Movie, filmed
from course.figures.style import COLOURS, Ground, new_figure, on_both_grounds
from course.watch.events import Event
from course.watch.messages import messages

MOVES, RESTS = 6, 2  # frames of a round: cells on their way, and cells that have come
SIDE = 0.84


def numbered_array(rank: int, size: int) -> np.ndarray:
    """An array [size], as `ring_movie` wants it: bit N p + r of a number stands for entry p of rank r."""
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


@on_both_grounds
def ring_movie(events: Sequence[Sequence[Event]], *, ground: Ground) -> Movie:
    """A row for each rank, a column for each chunk; a cell has a stripe for each rank whose numbers are in it.

    events: by rank, of a run of an all-reduce of `numbered_array`s.
    """
    size, sent = len(events), cells_of(events)
    rounds = max((cell.round for cell in sent), default=0)
    has = [[{rank} for _ in range(size)] for rank in range(size)]
    alt = f"An all-reduce on {size} ranks in {rounds} rounds, {len(sent)} chunks sent: sums fill up, and are copied on."
    caption = "A row is a rank, a column a chunk, a stripe the numbers of one rank. Drawn from the messages of the run."
    figure, axes = new_figure(5.2, 0.9 + 0.72 * size, alt=alt, ground=ground)
    axes.set(xlim=(-0.2, size), ylim=(size + 0.1, -0.2), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_yticks([rank + 0.5 for rank in range(size)], [f"rank {rank}" for rank in range(size)])
    axes.set_xticks([place + 0.45 for place in range(size)], [f"chunk {place}" for place in range(size)])
    axes.tick_params(length=0)
    title = axes.set_title("Each rank has its own numbers")
    stripes = [[Stripes(axes, size, ground) for _ in range(size)] for _ in range(size)]
    flying = [Stripes(axes, size, ground) for _ in range(max_per_round(sent))]
    moving: list[Any] = [title]
    for each in [*(cell for row in stripes for cell in row), *flying]:
        moving += each.patches
    states = [[[frozenset(cell) for cell in row] for row in has]]
    for number in range(1, rounds + 1):
        for cell in sent:
            if cell.round == number:
                has[cell.target][cell.place] |= cell.ranks
        states.append([[frozenset(cell) for cell in row] for row in has])

    def move(frame: int) -> None:
        number, step = divmod(frame, MOVES + RESTS)
        arrived = step >= MOVES or number >= rounds
        now = [cell for cell in sent if cell.round == number + 1]
        for rank, row in enumerate(states[min(number + arrived, rounds)]):
            for place, ranks in enumerate(row):
                stripes[rank][place].put(place + 0.03, rank + 0.08, ranks)
        for own, cell in zip(flying, [*now, *[None] * len(flying)], strict=False):
            if cell is None or arrived:
                own.put(0, 0, frozenset())
                continue
            part = (step + 1) / (MOVES + 1)
            at = cell.source + (cell.target - cell.source) * part
            own.put(cell.place + 0.17, at + 0.22, cell.ranks, SIDE - 0.28)
        whole = {*range(size)}
        copied = bool(now) and all(cell.ranks == whole for cell in now)
        doing = "finished chunks are copied on" if copied else "chunks are added up"
        title.set_text(f"Round {number + 1} of {rounds}: {doing}" if now else f"After {rounds} rounds")

    frames = rounds * (MOVES + RESTS) + 1
    return Movie(filmed(figure, moving, move, frames), [110] * (frames - 1) + [3500], alt, caption)


def max_per_round(sent: Sequence[Cell]) -> int:
    """How many chunks are on their way at most."""
    rounds = [cell.round for cell in sent]
    return max((rounds.count(number) for number in {*rounds}), default=0)


class Stripes:
    """A cell that can be moved, with one stripe for each of some ranks."""

    def __init__(self, axes: Any, size: int, ground: Ground) -> None:
        self.stripes = [axes.add_patch(Rectangle((0, 0), 0, 0, facecolor=COLOURS[rank % 7])) for rank in range(size)]
        self.frame = axes.add_patch(Rectangle((0, 0), 0, 0, facecolor="none", edgecolor=ground.ink, linewidth=0.9))

    @property
    def patches(self) -> list[Rectangle]:
        """All that has to be drawn."""
        return [*self.stripes, self.frame]

    def put(self, left: float, top: float, ranks: frozenset[int], side: float = SIDE) -> None:
        """Show it there with these ranks' stripes; without any, show nothing."""
        width = side / max(1, len(ranks))
        for rank, stripe in enumerate(self.stripes):
            shown = rank in ranks
            begin = sorted(ranks).index(rank) * width if shown else 0
            stripe.set_bounds(left + begin, top, width * shown, side * shown)
        self.frame.set_bounds(left, top, side * bool(ranks), side * bool(ranks))
