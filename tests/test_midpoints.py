"""The midpoint rule on several ranks: what is wrong with who evaluates which point has a name."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from course.midpoints import midpoint_sum, midpoints, mistakes, numbers, recorded, share_mistakes

pytestmark = pytest.mark.side_by_side


def names(intervals: int, points: list[list[float]]) -> list[str]:
    """Names of the mistakes."""
    return [name for name, _ in mistakes(intervals, points)]


def blocks(intervals: int, *bounds: int) -> list[list[float]]:
    """The midpoints between each two bounds, one list a rank."""
    return [midpoints(intervals, range(start, stop)) for start, stop in itertools.pairwise(bounds)]


def test_the_sum_of_all_midpoints_is_near_pi():
    assert midpoint_sum(lambda x: 4 / (1 + x * x), 1000) == pytest.approx(math.pi, abs=1e-7)


def test_points_are_numbered_by_the_interval_that_they_are_in_the_middle_of():
    assert numbers(7, midpoints(7)) == list(range(7))
    assert numbers(7, [1.5 / 7, 7.5 / 7]) == [1, 7]


@pytest.mark.parametrize(
    "points",
    [blocks(10, 0, 3, 6, 8, 10), blocks(3, 0, 1, 1, 2, 3), [midpoints(10, range(r, 10, 3)) for r in range(3)]],
    ids=["blocks", "more ranks than intervals", "strides"],
)
def test_each_midpoint_once_in_fair_shares_is_right(points):
    assert mistakes(round(sum(map(len, points))), points) == []


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("remainder-lost", blocks(10, 0, 2, 4, 6, 8)),
        ("points-missing", blocks(10, 0, 3, 5, 7)),
        ("overlapping-shares", [midpoints(10, range(5)), midpoints(10, range(4, 10))]),
        ("everything-on-every-rank", [midpoints(10)] * 3),
        ("unbalanced", blocks(10, 0, 2, 4, 6, 10)),
        ("local-h", [midpoints(5)] * 2),
        ("local-h", [midpoints(5), [1 + x for x in midpoints(5)]]),
        ("not-midpoints", [[i / 10 for i in range(10)]]),
        ("not-midpoints", [midpoints(10, range(1, 11))]),
        ("float32", [np.array(midpoints(10), dtype=np.float32).astype(float).tolist()]),
    ],
)
def test_a_mistake_is_named(name, points):
    assert names(10, points) == [name]


def test_a_record_has_all_points_and_refuses_what_is_no_float64_array():
    record = {"points": []}
    f = recorded(np.sqrt, record)
    assert f(np.array([[1.0], [4.0]])).tolist() == [[1.0], [2.0]]
    assert record == {"points": [1.0, 4.0], "used": True}
    for wrong, kind in [
        (1.0, "float"),
        (np.float32(1), "float32"),
        (np.ones(1, dtype=np.float32), "ndarray of float32"),
    ]:
        with pytest.raises(TypeError, match="float64"):
            f(wrong)
        assert record["refused"] == kind


@pytest.mark.parametrize("strange", [None, math.nan, math.inf])
def test_a_point_that_is_no_finite_number_is_no_midpoint(strange):
    assert mistakes(4, [[*midpoints(4), strange]]) == [("not-midpoints", {"bad": 1, "all": 5})]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        (None, [[[8, 0, 2]], [[8, 1, 2]]]),
        (None, [[], []]),
        ("local-h", [[[4, 0, 2]], [[4, 1, 2]]]),
        ("everything-on-every-rank", [[[8, 0, 1]], [[8, 0, 2], [8, 1, 2]]]),
        ("overlapping-shares", [[[8, 0, 2]], [[8, 0, 2]]]),
        (None, [[[8, 0, 0]], [[8, 1, -1]]]),
    ],
)
def test_what_is_wrong_with_the_shares_that_ranks_ask_for_has_a_name(name, asked):
    assert [found for found, _ in share_mistakes(8, asked)] == ([name] if name else [])
