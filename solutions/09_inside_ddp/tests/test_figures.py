"""Pictures of buckets of several sizes and of buffers that drift."""

from __future__ import annotations

import pytest
from timed_step import BANDWIDTH, LATENCY, run

from ..figures.bucket_movie import bucket_movie
from ..figures.bucket_size_picture import bucket_size_picture
from ..figures.buffer_drift import buffer_drift_picture

DRIFT = {"each rank its own": [[0.1, 0.2, 0.5], [0.1, 0.3, 0.9]], "broadcast": [[0.1, 0.2, 0.5], [0.1, 0.25, 0.6]]}
HOOKS = run([0.02, 0.03, 0.04, 0.05], 0.058)
FIGURES = {
    "bucket sizes": lambda: bucket_size_picture({"your reducer": {65536: 0.2, 131072: 0.18, 262144: 0.19}}, 0.15),
    "two networks": lambda: bucket_size_picture(
        {"latency 1 ms": {65536: 0.2, 131072: 0.18}, "latency 2 ms": {65536: 0.26, 131072: 0.21}}, 0.15
    ),
    "buffers": lambda: buffer_drift_picture(DRIFT),
}


def test_the_best_size_is_marked() -> None:
    figure = FIGURES["two networks"]()
    assert "latency 2 ms: 260 ms with 66 kB, 210 ms with 131 kB, the fastest with 131 kB" in figure.alt
    assert [text.get_text() for text in figure.axes[0].texts] == ["131 kB", "131 kB", "nothing sent"]


def test_buffers_that_drift_are_told_with_their_distance() -> None:
    figure = FIGURES["buffers"]()
    assert "each rank its own: the ranks are at most 0.400 apart, after the last step 0.400" in figure.alt
    assert "broadcast: the ranks are at most 0.100 apart" in figure.alt
    left, right = figure.axes
    drawn = [list(line.get_ydata()) for line in left.get_lines() if len(line.get_ydata())]
    assert drawn == DRIFT["each rank its own"] and left.get_ylim() == right.get_ylim()


@pytest.mark.thorough
def test_the_film_shows_which_buckets_arrive_in_time() -> None:
    movie = bucket_movie(HOOKS, [[3], [2], [1], [0]], LATENCY, BANDWIDTH)
    assert "3 of them have arrived when the backward pass is over, after 40 ms; the last one after 48 ms" in movie.alt
    assert movie.gif[:3] == b"GIF" and movie.dark is not None
    assert "None of them is sent" in bucket_movie(run([], 0.05), [[3, 2], [1, 0]], LATENCY, BANDWIDTH).alt
