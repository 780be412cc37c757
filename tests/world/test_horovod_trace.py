"""What Horovod's own trace tells: which gradients were reduced as one, also if it was not ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from traced_gradients import trace

from course.watch.libraries.horovod_trace import fused, read_trace


def test_gradients_whose_reductions_overlap_were_reduced_as_one() -> None:
    assert [len(group) for group in fused(trace())] == [2, 6]
    assert fused(trace())[0] == ["9.bias", "9.weight"]


def test_a_trace_that_was_not_ended_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "allreduce.a.weight"}},
        {"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "barrier.noname"}},
        {"ph": "B", "name": "NEGOTIATE_BARRIER", "ts": 0, "pid": 2},
        {"ph": "E", "ts": 90, "pid": 2},
        {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 100, "pid": 1},
        {"ph": "X", "name": "2", "ts": 300, "pid": 1, "dur": 0},
        {"ph": "E", "ts": 400, "pid": 1},
        {"ph": "B", "name": "ALLREDUCE", "ts": 410, "pid": 1},
        {"ph": "B", "name": "MPI_ALLREDUCE", "ts": 420, "pid": 1},
    ]
    (tmp_path / "trace.json").write_text("[\n" + ",\n".join(map(json.dumps, lines)) + ",\n")
    (entry,) = read_trace(tmp_path / "trace.json")
    assert (entry["tensor"], entry["phase"]) == ("a.weight", "negotiate")
    assert (entry["start"], entry["end"], entry["ranks"][2]) == pytest.approx((0.0, 3e-4, 2e-4))
