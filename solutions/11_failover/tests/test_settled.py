"""A model that has settled: its sums over the ranks keep their order, and its thrown-away passes leave no trace."""

from __future__ import annotations

import sys

import cloudpickle
import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.world import RANK

from ..models.settled import settled


@pytest.fixture(scope="module", autouse=True)
def functions_travel_by_value() -> None:
    """So that no rank imports this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def wrapped() -> DistributedDataParallel:
    """A network with BatchNorm and dropout, in one bucket as it is built, and in several once that is cut anew."""
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Dropout(0.5), nn.Tanh())]
    return DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0.02)


def gradients(settles: bool, rank: int) -> list[list[float]]:
    """Runs on each rank: all gradients of the first pass, and of two more with the very same numbers."""
    inputs = torch.randn(8, 64, generator=torch.Generator().manual_seed(rank))
    model, seen = wrapped(), []
    if settles:
        settled(model, inputs)
    for _ in range(3):
        torch.manual_seed(rank)
        model.zero_grad()
        model(inputs).square().mean().backward()
        seen.append(torch.cat([each.grad.flatten() for each in model.parameters()]).tolist())
    return seen


@pytest.mark.thorough
@pytest.mark.parametrize("settles", [True, False])
def test_the_first_gradient_is_the_later_ones_bit_for_bit_only_where_the_model_has_settled(world, settles):
    for first, *others in world.run(gradients, settles, RANK, init="torch"):
        assert others[0] == others[1]
        assert (first == others[0]) == settles, (
            "without it the first sum comes in another order, so the test would tell"
        )


def traces(rank: int) -> tuple:
    """Runs on each rank: gradients, buffers and the next random number, each before and after."""
    torch.manual_seed(rank)
    model = wrapped()

    def state() -> tuple:
        buffers = [values.tolist() for values in model.module.buffers()]
        return [each.grad is None or not each.grad.any() for each in model.parameters()], buffers, torch.get_rng_state()

    before = state()
    given = settled(model, torch.ones(8, 64))
    after = state()
    return given is model, model.training, before[:2] == after[:2], torch.equal(before[2], after[2])


def test_settling_leaves_no_trace_and_gives_the_same_model(world):
    assert world.run(traces, RANK, init="torch") == [(True, True, True, True)] * 4
