"""The file for chrome://tracing and Perfetto: every span is in it, and no two of one thread overlap."""

from __future__ import annotations

import json
from pathlib import Path

from course.profiles.chrome_trace import chrome_trace, save_chrome_trace
from course.profiles.spans import Span

STEP = Span("step", 0.0, 0.009, "step")
MATMUL = Span("compute", 0.001, 0.004, "aten::mm")
SUMS = [Span("communication", start, end, "gloo:all_reduce") for start, end in ((0.002, 0.006), (0.003, 0.005))]
LATER = Span("communication", 0.006, 0.008, "gloo:all_reduce")


def spans_of(trace: dict) -> list[dict]:
    """The entries of a trace that are spans."""
    return [entry for entry in trace["traceEvents"] if entry["ph"] == "X"]


def test_a_span_is_an_entry_with_its_rank_its_kind_and_microseconds() -> None:
    first, second = spans_of(chrome_trace([[], [STEP, MATMUL]]))
    assert (first["name"], first["cat"], first["pid"], first["tid"]) == ("step", "step", 1, 0)
    assert (second["name"], second["pid"], second["tid"]) == ("aten::mm", 1, 0)
    assert [round(second[key]) for key in ("ts", "dur")] == [1000, 3000]


def test_collectives_at_the_same_time_are_in_different_threads() -> None:
    entries = spans_of(chrome_trace([[STEP, MATMUL, *SUMS, LATER]]))
    assert [entry["tid"] for entry in entries] == [0, 0, 1, 2, 1]


def test_ranks_and_threads_have_names() -> None:
    named = [entry for entry in chrome_trace([[STEP], [STEP, LATER]])["traceEvents"] if entry["ph"] == "M"]
    assert [(entry["pid"], entry["tid"], entry["args"]["name"]) for entry in named] == [
        (0, 0, "rank 0"),
        (0, 0, "computing"),
        (1, 0, "rank 1"),
        (1, 0, "computing"),
        (1, 1, "communication"),
    ]


def test_the_file_is_json_with_all_of_it(tmp_path: Path) -> None:
    profile = [[STEP, MATMUL], [STEP, *SUMS]]
    save_chrome_trace(profile, tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text(encoding="utf-8")) == chrome_trace(profile)
