"""One step of data parallelism as a strip: what is drawn is what was measured."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from made_events import event

from course.figures.ranks.step_strip import REDUCE, WAIT, strip_picture
from course.world import COMM, RANK

PART = {"forward": 0.002, "backward": 0.004, "update": 0.001}
# Two steps; in the second, which is faster, rank 1 comes 3 ms after rank 0, and the all-reduce ends 2 ms later.
EVENTS = [
    [event("barrier", start=0.0, end=0.001), event(start=0.01, end=0.05), event(start=0.1, end=0.105)],
    [event("barrier", start=0.0, end=0.001), event(start=0.01, end=0.05), event(start=0.103, end=0.105)],
]
PARTS = [[PART, PART], [PART, PART | {"backward": 0.007}]]
FIGURES = {"step": lambda: strip_picture(PARTS, EVENTS, "One step on 2 ranks")}


def bars(figure) -> dict[tuple[str, int], tuple[float, float]]:
    """By part and rank, when it begins and ends, in ms."""
    drawn = figure.axes[0].patches
    return {
        (bar.get_gid(), round(bar.get_y() + bar.get_height() / 2)): (bar.get_x(), bar.get_x() + bar.get_width())
        for bar in drawn
    }


def test_the_fastest_step_is_drawn_and_no_rank_leaves_the_all_reduce_before_the_last_has_come() -> None:
    drawn = bars(FIGURES["step"]())
    assert drawn == {
        ("forward", 0): pytest.approx((0, 2)),
        ("backward", 0): pytest.approx((2, 6)),
        (WAIT, 0): pytest.approx((6, 9)),
        (REDUCE, 0): pytest.approx((9, 11)),
        ("update", 0): pytest.approx((11, 12)),
        ("forward", 1): pytest.approx((0, 2)),
        ("backward", 1): pytest.approx((2, 9)),
        (REDUCE, 1): pytest.approx((9, 11)),
        ("update", 1): pytest.approx((11, 12)),
    }
    assert "Rank 1 is the last to call the all-reduce, 9.0 ms after" in FIGURES["step"]().alt


def test_a_step_without_its_all_reduce_is_refused() -> None:
    with pytest.raises(ValueError, match="as many all-reduces as steps"):
        strip_picture(PARTS, [EVENTS[0], EVENTS[1][:2]], "One step")
    with pytest.raises(ValueError, match="never ended"):
        strip_picture([[PART]], [[event(end=None)]], "One step")


def late(comm, rank: int, folder: str) -> list[dict[str, float]]:
    """A step in which rank 2 computes for a second more than all others."""
    comm.Barrier()
    began = time.perf_counter()
    if rank == 2:
        while len(os.listdir(folder)) < comm.size - 1:
            time.sleep(0.01)
        time.sleep(1)
    backward = time.perf_counter() - began
    Path(folder, str(rank)).touch()
    comm.allreduce(1)
    return [{"forward": 0.0, "backward": backward, "update": 0.0}]


@pytest.mark.thorough
def test_in_a_real_run_the_other_ranks_wait_for_the_one_that_is_late(world, tmp_path) -> None:
    parts = world.run(late, COMM, RANK, str(tmp_path), deadline=120)
    drawn = bars(strip_picture(parts, world.events, "One step"))
    came = [next(event["start"] for event in events if event["kind"] == "allreduce") for events in world.events]
    waits = {rank: end - start for (name, rank), (start, end) in drawn.items() if name == WAIT}
    assert waits == {rank: pytest.approx(1000 * (came[2] - came[rank]), abs=0.01) for rank in (0, 1, 3)}
    assert drawn["backward", 2][1] - drawn["backward", 2][0] == pytest.approx(1000 * parts[2][0]["backward"])
