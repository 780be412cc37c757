"""Pictures of all-reduces: how many a step has, and which lie below its backward pass."""

from __future__ import annotations

import pytest

from course.figures.ranks.synchronisation import all_reduces_picture, overlap_picture


def step(*buckets: tuple[int, int, int]) -> dict:
    """A step whose backward pass begins at 1 s. buckets: bytes, and beginning and end in milliseconds after that."""
    sent = [{"bytes": size, "start": 1 + start / 1000, "end": 1 + end / 1000} for size, start, end in buckets]
    return {"backward": 1.0, "buckets": sent}


OVERLAP = step((1_100_000, 3, 6), (3_100_000, 7, 12))


FIGURES = {
    "all-reduces": lambda: all_reduces_picture({"on every micro-batch": [4] * 6 + [2], "with no_sync": [1] * 7}),
    "all-reduces of many steps": lambda: all_reduces_picture({"on every": [4] * 60, "with no_sync": [1] * 60}),
    "no all-reduces": lambda: all_reduces_picture({"with no_sync on every step": []}),
    "overlap": lambda: overlap_picture({"step 1": step((4_200_000, 5, 8)), "step 3": OVERLAP}),
    "overlap of one step": lambda: overlap_picture({"step 1": step((1200, 5, 8))}),
    "overlap without buckets": lambda: overlap_picture({"step 1": step()}),
}


def test_each_bar_is_the_number_of_all_reduces_of_a_step() -> None:
    axes = FIGURES["all-reduces"]().axes[0]
    assert [[bar.get_height() for bar in bars] for bars in axes.containers] == [[4] * 6 + [2], [1] * 7]


def test_buckets_lie_where_they_are_sent_below_the_backward_pass_that_ends_with_the_last_of_them() -> None:
    axes = FIGURES["overlap"]().axes[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert bars == [pytest.approx(bar) for bar in ((0, 5), (5, 3), (0, 7), (3, 3), (7, 5))]
    assert [text.get_text().strip() for text in axes.texts] == ["4.01 MiB", "1.05 + 2.96 MiB"]
