"""Who makes the call that a verdict names sees the mistake in a cell of their own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.labs.folder import load_checks

LAB = Path(__file__).parents[1]

PARTIAL_SUM = """import numpy as np


def partial_sum(f, intervals, rank, size):
    i = np.arange({numbers})
    return float(np.sum(f((i + {shift}) / intervals))) / intervals
"""
EDGES = PARTIAL_SUM.format(numbers="rank, intervals, size", shift=0)
BLOCKS = PARTIAL_SUM.format(numbers="rank * (intervals // size), (rank + 1) * (intervals // size)", shift=0.5)


@pytest.mark.parametrize(("source", "key"), [(EDGES, "not-midpoints"), (BLOCKS, "remainder-lost")])
def test_the_call_that_is_named_shows_the_mistake(world, source, key):
    check = next(each for each in load_checks(LAB / "checks") if each.todo == "partial_sum")
    finding, *_ = contract.run(check, world, Subject("partial_sum", source), 1).findings
    assert finding.key == key
    named = re.search(r"Seen with intervals=(\d+), size=(\d+)\.$", finding.message)
    intervals, size = map(int, named.groups())
    points: list[float] = []
    namespace: dict = {}
    exec(source, namespace)
    for rank in range(size):
        namespace["partial_sum"](lambda x: points.extend(x) or np.zeros_like(x), intervals, rank, size)
    due = (np.arange(intervals) + 0.5) / intervals
    assert len(points) != intervals or not np.allclose(np.sort(points), due)
