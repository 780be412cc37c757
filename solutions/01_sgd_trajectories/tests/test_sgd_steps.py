"""What a path tells of how it was made."""

from __future__ import annotations

import random

import pytest

from ..checks import steps
from ..checks.mse_gradient import drawn_line

BATCHES = [[0, 3, 4, 8], [1, 2, 5, 7], [6], [2, 2, 5], [0, 1, 2, 3, 4, 5, 6, 7, 8]]


def walk(problem: dict, batches: list[list[int]], by: float = 0.0) -> list[list[float]]:
    """The path over these batches. by: what the sum over a batch is divided by, if not by its samples."""
    path = [problem["start"]]
    for batch in batches:
        each = steps.sample_gradients(problem["x"], problem["y"], [path[-1]])[0][batch].sum(0) / (by or len(batch))
        path.append([value - 0.05 * float(slope) for value, slope in zip(path[-1], each, strict=True)])
    return path


def explained(problem: dict, path: list[list[float]], batch_size: int = 4):
    choices = steps.possible_batches(len(problem["x"]), batch_size)
    return steps.explained(problem["x"], problem["y"], path, 0.05, batch_size, choices)


@pytest.mark.parametrize("seed", range(10))
def test_the_batches_of_a_path_are_told_from_its_points(seed: int) -> None:
    problem = drawn_line(random.Random(seed), 9)
    assert explained(problem, walk(problem, BATCHES)) == (BATCHES, [], None)


def test_a_step_that_no_batch_gives_is_found() -> None:
    problem = drawn_line(random.Random(3), 9)
    path = walk(problem, [[0, 3], [1, 2], [4, 5]])
    path[2][0] += 0.1
    assert explained(problem, path) == (None, [], 1)


def test_two_slips_at_once_are_both_found() -> None:
    problem = drawn_line(random.Random(6), 9)
    _, mistakes, _ = explained(problem, walk(problem, [*BATCHES[:3], [2, 4, 5, 8], [0, 1, 3, 7]], by=8))
    assert mistakes == ["factor-two", "last-batch-divided-by-batch-size"]
