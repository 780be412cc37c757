"""A gradient accumulated over micro-batches tells how much each of them counted."""

from __future__ import annotations

import random

import pytest
import torch
from lab_packages import check_module

from autograde.contract.verdict import settle
from autograde.verdicts.one_process import expected_gradient, mean_over_samples, parts_of, weights_of

LAB = check_module("01_sgd_trajectories", "accumulate_gradient")


def parts_of_case(case: dict) -> list:
    """The micro-batches of a case, with their gradients."""
    loss = mean_over_samples(LAB.loss_function(case))
    return parts_of(LAB.build_model(case), loss, [LAB.micro_batches(case)], LAB.TRAINED)


def keys_of(case: dict, gradient: torch.Tensor | list) -> list[str]:
    """The findings for a gradient of weight and bias, [16]."""
    row = torch.as_tensor(gradient, dtype=torch.float64).tolist()
    grads = {"weight": row[:12], "bias": row[12:], "frozen": None, "unused": None}
    seen = {"grads": grads, "moved": [], "changed": [], "thawed": False, "together": False, "hooked": False}
    seen["modes"] = [True, True]
    return [each.key for each in settle([LAB.CHECK.judge(case, [seen])])]


def test_weights_of_micro_batches_are_told_from_the_gradient() -> None:
    case = LAB.draw_problem(random.Random(6), [5, 2, 3], "mse", plain=False)
    parts = parts_of_case(case)
    means = [part.gradient / part.count for part in parts]
    weights = weights_of(expected_gradient(parts), means)
    assert weights.tolist() == pytest.approx([0.5, 0.2, 0.3])
    assert keys_of(case, expected_gradient(parts)) == []
    assert keys_of(case, sum(means) / 3) == ["mean-of-micro-batch-means"]
    assert weights_of(means[0] ** 3, means) is None


def test_the_awkward_model_has_tied_frozen_and_unused_parameters() -> None:
    case = LAB.draw_problem(random.Random(7), [4], "cross_entropy", plain=False)
    model = LAB.build_model(case)
    [(inputs, targets)] = LAB.micro_batches(case)
    LAB.loss_function(case)(model(inputs), targets).backward()
    without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert without == {"frozen", "unused"}


@pytest.mark.parametrize("plain", [False, True])
def test_a_gradient_that_is_almost_right_is_wrong(plain: bool) -> None:
    case = LAB.draw_problem(random.Random(8), [5, 2, 3], "mse", plain=plain)
    parts = parts_of_case(case)
    right, means = expected_gradient(parts), [part.gradient / part.count for part in parts]
    assert keys_of(case, right) == keys_of(case, right * (1 + 1e-6)) == []
    assert keys_of(case, right + 5e-4 * means[0]) == ["wrong-weights"]
    assert keys_of(case, sum(means)) == ["micro-batches-not-averaged"]
    assert keys_of(case, -right) == ["wrong-sign"]
    assert keys_of(case, torch.zeros(16)) == ["no-gradient"]
    assert keys_of(case, right * torch.arange(16)) == ["wrong-gradient"]
    assert keys_of(case, [float("nan")] * 16) == ["wrong-gradient"]
    if not plain:
        assert keys_of(case, right + LAB.left_over(case)) == ["gradient-carried-over"]
