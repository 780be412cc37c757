"""The replay of several ranks in one process, against torch's SGD and against real ranks."""

from __future__ import annotations

import pytest
import torch
from lab_packages import check_module
from torch.nn.functional import cross_entropy

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, leave_gradient, state_of
from autograde.verdicts.replicas import Replicas, Rules, replay, same_state
from course.world import COMM

AveragingSGD = check_module("07_horovod_mnist", "averaging", "probes").AveragingSGD

CASE = {"size": 3, "model": 5, "samples": 20, "data": 8, "batch_size": 3, "lr": 0.05}
ORDERS = [
    [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]],
    [[15, 3, 9, 1, 11], [2, 18, 4, 19, 0], [5, 6, 7, 8, 12]],
]


def rank_trains(case: dict, comm) -> dict:
    """Runs on each rank: its own batches, with an optimizer that averages."""
    model, data = NumberedNet(case["model"]), NumberedSet(case["samples"], case["data"])
    optimizer = AveragingSGD(model.parameters(), comm, lr=case["lr"], momentum=0.9)
    for order in case["orders"]:
        own = order[comm.rank]
        for start in range(0, len(own), case["batch_size"]):
            leave_gradient(model, data, own[start : start + case["batch_size"]])
            optimizer.step()
    return state_of(model)


@pytest.mark.thorough
def test_the_replay_ends_where_real_ranks_end(world):
    case = {**CASE, "orders": ORDERS}
    due, _ = replay(case)[-1]
    states = world.run(rank_trains, case, COMM, size=3)
    assert all(map(same_state, states, due))
    assert not same_state(states[0], replay(case, Rules("sum"))[-1][0][0])


def test_a_single_replica_is_torchs_sgd():
    data, net = NumberedSet(9, 3), NumberedNet(4)
    replicas = Replicas([NumberedNet(4)], 0.1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = replicas.epoch(data, [[[0, 1, 2, 3], [4, 5, 6], [7, 8]]])
    for ids, told in zip([[0, 1, 2, 3], [4, 5, 6], [7, 8]], losses[0], strict=True):
        inputs, labels = data.batch(ids)
        loss = cross_entropy(net(inputs), labels)
        assert loss.item() == pytest.approx(told)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert same_state(state_of(net), replicas.states()[0])


def test_a_batch_without_samples_has_a_loss_that_is_no_number():
    """As in torch: whoever trains on one is told so, instead of that the check has an error."""
    replicas = Replicas([NumberedNet(4, plain=True, norm=False)], 0.1)
    assert str(replicas.epoch(NumberedSet(9, 3), [[[]]])) == "[[nan]]"


def test_gradients_that_are_not_zeroed_lead_elsewhere():
    case = {**CASE, "orders": ORDERS}
    right, carried = (replay(case, rules)[-1][0][0] for rules in (Rules(), Rules(zeroed=False)))
    assert not same_state(right, carried, ["weight"])


def test_a_state_with_a_number_missing_is_not_the_same():
    state = state_of(NumberedNet(1))
    assert same_state(state, state)
    assert not same_state({**state, "weight": state["weight"][:-1]}, state)
    assert not same_state({**state, "bias": [None] * 4}, state)
    assert not same_state({name: values for name, values in state.items() if name != "unused"}, state)
    assert not same_state(None, state)


def broadcast(moving: bool, comm) -> list:
    """Runs on each rank: Horovod's broadcast of the state of an optimizer; rank 0 alone has momentum, or lacks it."""
    import horovod.torch as hvd

    model = NumberedNet(1)
    optimizer = AveragingSGD(model.parameters(), comm, lr=0.1 * (comm.rank + 1), momentum=0.9)
    trained = [each for each in model.parameters() if each.requires_grad]
    if (comm.rank == 0) == moving:
        for parameter in trained:
            optimizer.state[parameter]["momentum_buffer"] = torch.full_like(parameter, comm.rank + 1.0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    values = torch.cat([optimizer.state[each]["momentum_buffer"].flatten() for each in trained])
    return [optimizer.param_groups[0]["lr"], values.min().item(), values.max().item()]


@pytest.mark.parametrize("moving", [True, False])
def test_horovod_broadcasts_the_averaging_optimizers_state_without_a_deadlock(world, moving):
    value = 1.0 if moving else 0.0
    assert world.run(broadcast, moving, COMM, init="horovod", deadline=120, size=3) == [[0.1, value, value]] * 3


def average_and_step_apart(comm) -> list[float]:
    """Runs on each rank: `synchronize`, then a step that averages nothing."""
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = AveragingSGD([parameter], comm, lr=1.0)
    parameter.grad = torch.tensor([1.0, float(comm.rank)])
    optimizer.synchronize()
    with optimizer.skip_synchronize():
        optimizer.step()
    optimizer.zero_grad()
    return [*parameter.tolist(), parameter.grad is None]


def test_the_average_and_the_step_can_be_parted(world):
    assert world.run(average_and_step_apart, COMM, size=3) == [[-1.0, -1.0, True]] * 3
