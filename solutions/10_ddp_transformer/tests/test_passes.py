"""Gradients that are averaged at another time than they should are found by the trace of real passes."""

from __future__ import annotations

import pytest
from traced_passes import three_passes

from course.world import RANK

from ..checks.passes import on_rank
from ..probes.traced import Entry


@pytest.mark.parametrize(
    ("inside", "directly", "due"),
    [
        ([0, 1], False, None),
        ([], False, "synchronised-every-micro-batch"),
        ([1, 2], False, "synchronised-too-early"),
        ([0, 1, 2], False, "never-synchronised"),
        ([1], False, "synchronised-too-often"),
        ([0, 1], True, "forward-through-module"),
    ],
)
def test_gradients_that_are_averaged_at_another_time_are_found_by_the_trace(world, inside, directly, due) -> None:
    results = world.run(three_passes, RANK, inside, directly, init="torch", size=2)
    traces = [[Entry(**each) for each in trace] for trace, _ in results]
    found = [on_rank(3, *seen) for seen in zip(traces, world.events, strict=True)]
    assert [each and each.key for each in found] == [due] * 2
