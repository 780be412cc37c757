"""Shares of a sum over midpoints: what is wrong with who evaluates which point has a name."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from lab_packages import check_module

from autograde.contract.verdict import settle
from course.models.midpoints import interval_numbers, midpoints

shares = check_module("03_pi_allreduce", "shares")


def keys(intervals: int, points: list[list[float]]) -> list[str]:
    """Keys of what is found."""
    found = shares.other_points(intervals, points) or shares.unfair_points(intervals, points)
    return [each.key for each in settle([found])]


def blocks(intervals: int, *bounds: int) -> list[list[float]]:
    """The midpoints between each two bounds, one list a rank."""
    return [midpoints(intervals, range(start, stop)) for start, stop in itertools.pairwise(bounds)]


def test_points_are_numbered_by_the_interval_that_they_are_in_the_middle_of():
    assert interval_numbers(7, midpoints(7)) == list(range(7))
    assert interval_numbers(7, [1.5 / 7, 7.5 / 7]) == [1, 7]


@pytest.mark.parametrize(
    "points",
    [blocks(10, 0, 3, 6, 8, 10), blocks(3, 0, 1, 1, 2, 3), [midpoints(10, range(r, 10, 3)) for r in range(3)]],
    ids=["blocks", "more ranks than intervals", "strides"],
)
def test_each_midpoint_once_in_fair_shares_is_right(points):
    assert keys(round(sum(map(len, points))), points) == []


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
    assert keys(10, points) == [name]


@pytest.mark.parametrize("strange", [None, math.nan, math.inf])
def test_a_point_that_is_no_finite_number_is_no_midpoint(strange):
    (finding,) = shares.other_points(4, [[*midpoints(4), strange]])
    assert finding.key == "not-midpoints" and "1 of the 5 points" in finding.message


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        (None, [[[8, 0, 2]], [[8, 1, 2]]]),
        (None, [[], []]),
        ("local-h", [[[4, 0, 2]], [[4, 1, 2]]]),
        ("everything-on-every-rank", [[[8, 0, 1]], [[8, 0, 2], [8, 1, 2]]]),
        ("overlapping-shares", [[[8, 0, 2]], [[8, 0, 2]]]),
        ("local-rank-for-share", [[[8, 0, 3]], [[8, 1, 3]], [[8, 0, 3]]]),
        ("no-such-share", [[[8, 1, 2]], [[8, 2, 2]]]),
        ("no-such-share", [[[8, -1, 2]], [[8, 0, 2]]]),
        (None, [[[8, 0, 0]], [[8, 1, -1]]]),
    ],
)
def test_what_is_wrong_with_the_shares_that_ranks_ask_for_has_a_name(name, asked):
    assert [found.key for found in shares.unfair_shares(8, asked, local_size=2)] == ([name] if name else [])


def test_with_few_intervals_a_mistake_is_told_by_what_it_shows_with_many():
    few, many = [[0.5], [0.5], []], [[0.25, 0.75], [0.25, 0.75], [0.5]]  # of 2 and of 5 intervals, on 3 ranks
    assert keys(2, few) == ["local-h"]
    found = [*shares.other_points(2, few), *shares.other_points(5, many)]
    assert [each.key for each in settle([found])] == ["local-h"]
    everything = [*shares.unfair_points(1, [[0.5]] * 2), *shares.unfair_points(4, [midpoints(4)[:3], midpoints(4)[1:]])]
    assert [each.key for each in settle([everything])] == ["overlapping-shares"]
