"""A replay in one process has the weights and losses of real ranks that train with DistributedDataParallel."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.rubric import Call, Replicas, Rules, trained_wrongly
from course.world import RANK, World

DATA = NumberedSet(24, seed=3)
STEPS = [[[0, 1, 2], [3, 4, 5, 6]], [[7, 8], [9, 10, 11]], [[12, 13, 14], [15, 16]]]  # by step and rank
MICRO = [[[0, 1, 2], [3]], [[4, 5], [6, 7, 8, 9]]]  # of one step, by rank and micro-batch
SGD = partial(torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)


def trained(rank: int) -> tuple[list[float], dict]:
    """What a real rank has after STEPS, which it makes in train mode."""
    model = DistributedDataParallel(NumberedNet(7, plain=True), broadcast_buffers=False)
    optimizer, losses = SGD(model.parameters()), []
    for step in STEPS:
        inputs, labels = DATA.batch(step[rank])
        loss = cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, state_of(model.module)


def test_replicas_are_the_ranks_of_a_real_training(world: World) -> None:
    replicas = Replicas([NumberedNet(7, plain=True) for _ in range(2)], SGD, DATA.loss)
    losses = [replicas.step([[ids] for ids in step]) for step in STEPS]
    for rank, (own, state) in enumerate(world.run(trained, RANK, init="torch", size=2)):
        assert [step[rank][0] for step in losses] == pytest.approx(own)
        mine = state_of(replicas.models[rank])
        assert {*mine} == {*state}
        for name, values in state.items():
            assert mine[name] == pytest.approx(values), name


def weights(mean: str, combine: str = "mean", **other: object) -> list[torch.Tensor]:
    """By rank, the weights after a step with MICRO."""
    models = [NumberedNet(7, plain=True, norm=False) for _ in range(2)]
    for model in models:
        for each in model.parameters():
            each.grad = torch.ones_like(each)
    Replicas(models, partial(torch.optim.SGD, lr=0.1), DATA.loss, Rules(mean, combine, **other)).step(MICRO)
    return [torch.cat([each.detach().flatten() for each in model.parameters()]) for model in models]


def one_process(*batches: list[int], factor: float = 1.0, more: float = 0.0) -> torch.Tensor:
    """The weights after a step with the sum of these batches' mean gradients, times a factor, and something more."""
    model = NumberedNet(7, plain=True, norm=False)
    for ids in batches:
        inputs, labels = DATA.batch(ids)
        (factor * cross_entropy(model(inputs), labels)).backward()
    return torch.cat([(each.detach() - 0.1 * (each.grad + more)).flatten() for each in model.parameters()])


EVERY = [*range(10)]


@pytest.mark.parametrize(
    ("rules", "due"),
    [
        ({"mean": "all"}, [one_process(EVERY)] * 2),
        ({"mean": "rank"}, [one_process(EVERY[:4], EVERY[4:], factor=1 / 2)] * 2),
        ({"mean": "batch"}, [one_process(*MICRO[0], *MICRO[1], factor=1 / 2)] * 2),
        ({"mean": "batch", "combine": "sum"}, [one_process(*MICRO[0], *MICRO[1])] * 2),
        ({"mean": "none"}, [one_process(EVERY, factor=5)] * 2),
        ({"mean": "rank", "combine": "own"}, [one_process(EVERY[:4]), one_process(EVERY[4:])]),
        ({"mean": "all", "times": 3.0}, [one_process(EVERY, factor=3)] * 2),
        ({"mean": "all", "zeroed": False}, [one_process(EVERY, more=1.0)] * 2),
    ],
)
def test_each_rule_is_the_one_that_it_says(rules: dict, due: list[torch.Tensor]) -> None:
    for mine, expected in zip(weights(**rules), due, strict=True):
        torch.testing.assert_close(mine, expected)


def test_who_takes_no_part_is_not_moved_and_counts_as_zeros_where_others_do() -> None:
    models = [NumberedNet(7) for _ in range(2)]
    replicas = Replicas(models, partial(torch.optim.SGD, lr=0.1, weight_decay=0.5), DATA.loss)
    replicas.step([[EVERY[:4]], []])
    unused, fresh = models[0].unused, NumberedNet(7)
    assert unused.grad is None
    assert torch.equal(unused, fresh.unused)
    assert torch.equal(models[0].weight, models[1].weight)
    assert not torch.equal(models[0].weight, fresh.weight)


def test_a_batch_without_items_has_a_loss_that_is_no_number() -> None:
    model = NumberedNet(7, plain=True, norm=False)
    [[loss]] = Replicas([model], partial(torch.optim.SGD, lr=0.1), DATA.loss).step([[[]]])
    assert math.isnan(loss)


def test_a_pass_is_its_steps_one_after_the_other() -> None:
    steps, whole = (Replicas([NumberedNet(7, plain=True) for _ in range(2)], SGD, DATA.loss) for _ in range(2))
    losses = [steps.step([[ids] for ids in step]) for step in STEPS]
    assert whole.pass_through([*zip(*STEPS, strict=True)]) == [[step[rank][0] for step in losses] for rank in range(2)]
    assert state_of(whole.models[0]) == state_of(steps.models[0])


def test_mistakes_by_rules_have_what_these_rules_give_and_their_words() -> None:
    mistakes = trained_wrongly(
        lambda call, rules=None, lr=1.0: (rules, lr), "own-gradient-only", text="slow: Slow.", slow={"lr": 0.5}
    )
    call = Call({}, 0, {}, [None])
    assert [*mistakes.words.messages] == ["slow", "own-gradient-only"]
    assert mistakes.values(call)["own-gradient-only"]().values == ((Rules(combine="own"), 1.0),)
    assert mistakes.values(call)["slow"]().values == ((None, 0.5),)
