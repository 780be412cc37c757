"""Pictures of plans for a broadcast, of a ring of messages, and of their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.world import COMM, World

from ..figures.bytes_picture import bytes_picture
from ..figures.plan_film import plan_film, ways
from ..figures.sent_ring_film import Cell, cells_of, numbered_array, sent_ring_film

TREE = [[(0, 1)], [(0, 2), (1, 3)], [(0, 4), (1, 5), (2, 6), (3, 7)]]
AT_ONCE = [[(0, rank) for rank in range(1, 8)]]
LARGEST = 300_000  # bytes of a film
SENT = {"broadcast, one by one": {2: 80, 3: 160, 4: 240}, "all-reduce, ring": {2: 80, 4: 120}}
FIGURES = {"bytes": lambda: bytes_picture(SENT, 80)}


def test_a_plan_takes_its_rounds_and_a_line_that_is_shared_takes_as_long_as_one_by_one() -> None:
    assert max(way.ends for way in ways(TREE, 0, 5)) == 15
    assert {way.ends for way in ways(AT_ONCE, 0, 5)} == {35}
    assert [way.works for way in ways([[(0, 1)], [(2, 3), (1, 2)]], 0, 5)] == [True, False, True]
    film = plan_film(TREE)
    assert "one by one it takes 35 s, by the plan 15 s" in film.name
    assert [frame.caption.partition(":")[0] for frame in film.frames[1:]] == [f"After {s} s" for s in range(5, 36, 5)]
    assert film.frames[3].caption.endswith("one by one, 3 of 7 have got it; by the plan, 7 of 7 have got it.")
    assert "One orange line brings nothing" in plan_film([[(1, 0)]]).frames[-1].caption
    assert "by the plan 0 s" in plan_film([]).name and len(plan_film([]).frames) == 1
    assert len(film.html) < LARGEST and len(plan_film(AT_ONCE).html) < LARGEST


def summed(comm: Any, whole: bool) -> list[int]:
    """Runs on each rank: an all-reduce of `numbered_array`s, by chunks around the ring or by whole arrays."""
    rank, size = comm.rank, comm.size
    total = numbered_array(rank, size)
    after, before = (rank + 1) % size, (rank - 1) % size
    if whole:
        moving = total.copy()
        for _ in range(size - 1):
            came = np.empty_like(moving)
            comm.Sendrecv(moving, after, recvbuf=came, source=before)
            total, moving = total + came, came
        return total.tolist()
    chunks = np.array_split(total, size)
    for step in range(2 * (size - 1)):
        came = np.empty_like(chunks[0])
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        into = chunks[(rank - step - 1) % size]
        into[:] = into + came if step < size - 1 else came
    return total.tolist()


def test_a_ring_is_drawn_from_the_messages_that_were_sent(world: World) -> None:
    [total, *others] = world.run(summed, COMM, False, size=3)
    cells = cells_of(world.events)
    film = sent_ring_film(world.events)
    world.run(summed, COMM, True, size=3)
    whole = cells_of(world.events)
    assert total == [0b111, 0b111 << 3, 0b111 << 6] and others == [total] * 2
    assert [cell for cell in cells if cell.source == 0] == [
        Cell(1, 0, 1, 0, frozenset([0])),
        Cell(2, 0, 1, 2, frozenset([2, 0])),
        Cell(3, 0, 1, 1, frozenset([0, 1, 2])),
        Cell(4, 0, 1, 0, frozenset([0, 1, 2])),
    ]
    assert "3 ranks in 4 rounds, 12 chunks" in film.name
    assert [frame.caption.rpartition(". ")[2].split()[0] for frame in film.frames[1:]] == ["0", "3", "6", "9"]
    assert "copied on" in film.frames[3].caption and "added up" in film.frames[2].caption
    assert len(film.html) < LARGEST
    assert len(whole) == 18 and {cell.round for cell in whole} == {1, 2}


def test_bytes_are_drawn_in_sizes_of_the_array() -> None:
    axes = FIGURES["bytes"]().axes[0]
    dots = [line for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata())]
    assert [list(zip(*line.get_data(), strict=True)) for line in dots] == [
        [(2, 1.0), (3, 2.0), (4, 3.0)],
        [(2, 1.0), (4, 1.5)],
    ]
