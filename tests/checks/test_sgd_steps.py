"""What a path and a gradient tell of how they were made."""

from __future__ import annotations

import random

import pytest
import torch
from lab_packages import check_module

draw_line_problem = check_module("01_sgd_trajectories", "line_fit").draw_line_problem
gradient_mistakes = check_module("01_sgd_trajectories", "line_fit").gradient_mistakes
gradient_stand_in = check_module("01_sgd_trajectories", "line_fit").gradient_stand_in
sample_gradients = check_module("01_sgd_trajectories", "line_fit").sample_gradients
explain = check_module("01_sgd_trajectories", "sgd_steps").explain
path_mistakes = check_module("01_sgd_trajectories", "sgd_steps").path_mistakes
same_path = check_module("01_sgd_trajectories", "sgd_steps").same_path


def walk(problem: dict, batches: list[list[int]], lr: float = 0.05) -> torch.Tensor:
    """The path over these batches."""
    path = [torch.tensor(problem["start"], dtype=torch.float64)]
    for batch in batches:
        each = sample_gradients(problem["x"], problem["y"], path[-1][None])[0]
        path.append(path[-1] - lr * each[batch].mean(0))
    return torch.stack(path)


@pytest.mark.parametrize("seed", range(10))
def test_the_batches_of_a_path_are_told_from_its_points(seed: int) -> None:
    problem = draw_line_problem(random.Random(seed), 9)
    batches = [[0, 3, 4, 8], [1, 2, 5, 7], [6], [2, 2, 5], [0, 1, 2, 3, 4, 5, 6, 7, 8]]
    told = explain(problem["x"], problem["y"], walk(problem, batches), 0.05, 4)
    assert told.batches == [tuple(batch) for batch in batches]
    assert told.mistakes == [] and told.misfit is None


def test_a_step_that_no_batch_gives_is_named() -> None:
    problem = draw_line_problem(random.Random(3), 9)
    path = walk(problem, [[0, 3], [1, 2], [4, 5]])
    path[2] += torch.tensor([0.1, 0.0])
    told = explain(problem["x"], problem["y"], path, 0.05, 4)
    assert told.batches is None and told.misfit == 1


def test_a_right_path_has_no_mistakes_and_a_wrong_one_those_that_have_a_sentence() -> None:
    case = draw_line_problem(random.Random(4), 5) | {"lr": 0.05, "batch_size": 2, "epochs": 2}
    right = walk(case, [[0, 1], [2, 3], [4], [4, 1], [0, 3], [2]])
    twice = walk(case, [[0, 1], [2, 3], [3], [4, 1], [0, 3], [2]])
    assert path_mistakes(case, right) == []
    [found] = path_mistakes(case, twice)
    assert found.key == "with-replacement" and "Epoch 0" in found.message


def test_two_slips_at_once_are_both_named() -> None:
    case = draw_line_problem(random.Random(6), 9) | {"lr": 0.05, "batch_size": 4, "epochs": 2}
    batches = [[0, 3, 4, 8], [1, 2, 5, 7], [6], [2, 4, 5, 8], [0, 1, 3, 7], [6]]
    path = [torch.tensor(case["start"], dtype=torch.float64)]
    for batch in batches:
        each = sample_gradients(case["x"], case["y"], path[-1][None])[0]
        path.append(path[-1] - 0.05 * each[batch].sum(0) / 8)
    found = {finding.key for finding in path_mistakes(case, torch.stack(path))}
    assert found == {"factor-two", "last-batch-divided-by-batch-size"}


@pytest.mark.parametrize(
    "shift", [lambda first, k: first[k:] + first[:k], lambda first, k: [(i + k) % 9 for i in first]]
)
def test_an_order_that_is_only_shifted_is_no_new_order(shift) -> None:
    case = draw_line_problem(random.Random(7), 9) | {"lr": 0.05, "batch_size": 1, "epochs": 3}
    first = random.Random(8).sample(range(9), 9)
    path = walk(case, [[sample] for k in (0, 2, 3) for sample in shift(first, k)])
    assert [finding.key for finding in path_mistakes(case, path)] == ["order-only-rolled"]


def test_the_fewest_mistakes_explain_a_gradient() -> None:
    problem = draw_line_problem(random.Random(5), 7)
    where = problem["x"], problem["y"], problem["start"]
    dm, dn = gradient_stand_in("float", [])(*problem["start"], *where[:2])
    assert gradient_mistakes(*where, (dm, dn)) == []
    assert gradient_mistakes(*where, (-7 * dn, -7 * dm)) == ["swapped", "sum-not-mean", "wrong-sign"]
    assert gradient_mistakes(*where, (dm + 1, dn)) is None


def test_paths_are_the_same_only_if_all_their_numbers_are_there() -> None:
    assert same_path([[1.0, 2.0]], [[1.0, 2.0 + 1e-9]])
    for other in ([], [[1.0]], [[1.0, None]], [[1.0, 2.1]], [[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0, 3.0]]):
        assert not same_path([[1.0, 2.0]], other)
    assert not same_path([[None, None]], [[None, None]])
