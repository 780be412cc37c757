"""Shares of a sum over midpoints: what is wrong with who evaluates which point has a name."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from autograde.rubric.criterion import Criterion
from autograde.rubric.judge import Call
from autograde.rubric.sampling import midpoints as shares
from autograde.rubric.words import Wrong
from course.models.midpoints import interval_numbers, midpoints


def judge(call: Call) -> Wrong | None:
    """Each midpoint once, in fair shares."""
    points = call.of("points")
    return shares.midpoints_once(call.arguments["intervals"], points) or shares.fair(points)


POINTS = Criterion("points", 1, "each midpoint once", judge, shares.share_mistakes(lambda call: call.of("points")))


def key(*splits: tuple[int, list[list[float]]]) -> str | None:
    """The key of what is wrong with some calls: intervals, and points by rank."""
    calls = [Call({}, 0, {"intervals": n}, [SimpleNamespace(points=own) for own in points]) for n, points in splits]
    wrong = POINTS.wrong(calls)
    return wrong.key if wrong else None


def blocks(*bounds: int, of: int = 10) -> list[list[float]]:
    """The midpoints between each two bounds, one list a rank."""
    return [midpoints(of, range(start, stop)) for start, stop in itertools.pairwise(bounds)]


def test_points_are_numbered_by_the_interval_that_they_are_in_the_middle_of():
    assert interval_numbers(7, midpoints(7)) == list(range(7))
    assert interval_numbers(7, [1.5 / 7, 7.5 / 7]) == [1, 7]


@pytest.mark.parametrize(
    ("name", "points"),
    [
        (None, blocks(0, 3, 6, 8, 10)),
        (None, [midpoints(10, range(r, 10, 3)) for r in range(3)]),
        ("remainder-lost", blocks(0, 2, 4, 6, 8)),
        ("points-missing", blocks(0, 3, 5, 7)),
        ("overlapping-shares", [midpoints(10, range(5)), midpoints(10, range(4, 10))]),
        ("everything-on-every-rank", [midpoints(10)] * 3),
        ("unbalanced", blocks(0, 2, 4, 6, 10)),
        ("local-h", [midpoints(5)] * 2),
        ("not-midpoints", [[i / 10 for i in range(10)]]),
        ("not-midpoints", [midpoints(10, range(1, 11))]),
        ("not-midpoints", [[*midpoints(10), None]]),
        ("float32", [np.array(midpoints(10), dtype=np.float32).astype(float).tolist()]),
    ],
)
def test_a_mistake_is_named(name, points):
    assert key((10, points)) == name


def test_a_mistake_is_told_only_if_it_explains_every_failure():
    few, many = [[0.5], [0.5], []], [[0.25, 0.75], [0.25, 0.75], [0.5]]  # of 2 and of 5 intervals, on 3 ranks
    assert key((2, few)) == "local-h"
    assert key((2, few), (5, many)) == "local-h"
    assert key((1, [[0.5]] * 2), (4, [midpoints(4)[:3], midpoints(4)[1:]])) == "overlapping-shares"


def test_one_rank_that_does_all_of_the_work_is_named_where_there_is_work_for_all():
    assert key((10, [midpoints(10), [], []])) == "idle-ranks"
    assert key((10, [midpoints(10)[:9], [], midpoints(10)[9:]])) == "unbalanced"
    assert key((2, [midpoints(2), [], []])) == "unbalanced"
