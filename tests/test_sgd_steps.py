"""What a path and a gradient tell of how they were made."""

from __future__ import annotations

import random

import pytest
import torch

from course.awkward import build_model, draw_awkward_problem, loss_function, mean_gradient, micro_batches
from course.awkward import gradient_mistakes as accumulated
from course.line_fit import draw_line_problem, gradient_mistakes, gradient_stand_in, sample_gradients
from course.sgd_steps import MISTAKES, explain, judge_path, same_path
from course.shares import averaging_mistake, weights_of

pytestmark = pytest.mark.side_by_side


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
    problem = draw_line_problem(random.Random(4), 5)
    setting = {"start": problem["start"], "lr": 0.05, "batch_size": 2, "epochs": 2}
    right = walk(problem, [[0, 1], [2, 3], [4], [4, 1], [0, 3], [2]])
    twice = walk(problem, [[0, 1], [2, 3], [3], [4, 1], [0, 3], [2]])
    assert judge_path(problem["x"], problem["y"], right, **setting)[0] == []
    mistakes, facts = judge_path(problem["x"], problem["y"], twice, **setting)
    assert mistakes == ["with-replacement"] and facts["epoch"] == 0
    assert MISTAKES["with-replacement"].format(**facts)


def test_the_fewest_mistakes_explain_a_gradient() -> None:
    problem = draw_line_problem(random.Random(5), 7)
    where = problem["x"], problem["y"], problem["start"]
    dm, dn = gradient_stand_in("float", [])(*problem["start"], *where[:2])
    assert gradient_mistakes(*where, (dm, dn)) == []
    assert gradient_mistakes(*where, (-7 * dn, -7 * dm)) == ["swapped", "sum-not-mean", "wrong-sign"]
    assert gradient_mistakes(*where, (dm + 1, dn)) is None


def test_weights_of_micro_batches_are_told_from_the_gradient() -> None:
    problem = draw_awkward_problem(random.Random(6), [5, 2, 3], "mse", awkward=True)
    parts = [mean_gradient(problem, [batch]) for batch in micro_batches(problem)]
    weights = weights_of(mean_gradient(problem, micro_batches(problem)), parts)
    assert weights.tolist() == pytest.approx([0.5, 0.2, 0.3])
    assert averaging_mistake(weights, [5, 2, 3]) is None
    assert averaging_mistake(torch.full((3,), 1 / 3, dtype=torch.float64), [5, 2, 3]) == "mean-of-means"
    assert weights_of(parts[0] ** 3, parts) is None


def test_the_awkward_model_has_tied_frozen_and_unused_parameters() -> None:
    problem = draw_awkward_problem(random.Random(7), [4], "cross_entropy", awkward=True)
    model = build_model(problem)
    model.zero_grad()
    [(inputs, targets)] = micro_batches(problem)
    loss_function(problem)(model(inputs), targets).backward()
    without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert without == {"frozen", "unused"}


def test_paths_are_the_same_only_if_all_their_numbers_are_there() -> None:
    assert same_path([[1.0, 2.0]], [[1.0, 2.0 + 1e-9]])
    for other in ([], [[1.0]], [[1.0, None]], [[1.0, 2.1]], [[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0, 3.0]]):
        assert not same_path([[1.0, 2.0]], other)
    assert not same_path([[None, None]], [[None, None]])


@pytest.mark.parametrize("awkward", [False, True])
def test_a_gradient_that_is_almost_right_is_wrong(awkward: bool) -> None:
    problem = draw_awkward_problem(random.Random(8), [5, 2, 3], "mse", awkward=awkward)
    batches = micro_batches(problem)
    right = mean_gradient(problem, batches)
    parts = [mean_gradient(problem, [batch]) for batch in batches]

    def keys(gradient: torch.Tensor | list) -> list[str]:
        return [key for key, _ in accumulated(problem, torch.as_tensor(gradient).tolist())]

    assert keys(right) == keys(right * (1 + 1e-6)) == []
    assert keys(right + 5e-4 * parts[0]) == ["wrong-weights"]
    assert keys(sum(parts)) == ["loss-not-divided"]
    assert keys(torch.zeros(16)) == ["no-gradient"]
    assert keys(right * torch.arange(16)) == ["wrong-gradient"]
    assert [key for key, _ in accumulated(problem, [None] * 16)] == ["wrong-gradient"]
    if awkward:
        assert keys(right + torch.tensor(problem["left_over"])) == ["gradient-carried-over"]
