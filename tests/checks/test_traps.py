"""Mistakes that published graders of distributed training let pass, and what the labs' own checks say of them.

Each is run twice on real ranks: before a check of the usual kind, written here, which it passes, and before the lab's.
The mistakes are those of the labs' `lab.toml`, of which `lockstep build` makes the table in docs/grader.md.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import horovod.torch as hvd
import numpy as np
import pytest
import torch
import torch.distributed as dist
from seeds import SEED
from torch.nn.parallel import DistributedDataParallel

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract import show
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, state_row
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, ids_of
from autograde.labs.folder import find_lab, load_checks, load_variants, solution_cells
from autograde.labs.places import REPOSITORY
from autograde.making.tables import finding, labs_of_the_kit, mistakes_let_pass
from course.models.translator.sentences import PAD, collate, loss_fn
from course.profiles.spans import Span
from course.world import COMM, RANK, World


def accumulate_gradients(model: DistributedDataParallel, micro_batches: list, loss_fn: Callable) -> tuple[float, int]:
    """What a `train_step` calls, with the right results: it goes back once for all micro-batches."""
    losses, synchronises = [], model.require_backward_grad_sync
    for number, (source, shifted, target) in enumerate(micro_batches, 1):
        model.require_backward_grad_sync = synchronises and number == len(micro_batches)
        losses.append(loss_fn(model(source, shifted), target))
    torch.stack(losses).sum().backward()
    model.require_backward_grad_sync = synchronises
    return sum(loss.item() for loss in losses), sum(int((batch[2] != PAD).sum()) for batch in micro_batches)


def steps(subject: Subject, comm: Any, kind: str, micro_batches: int, count: int) -> tuple[list[float], list[float]]:
    """Runs on each rank: `count` steps on the same data. Gives the losses, and the weights at the end.

    The data of four ranks; one rank alone takes that of all four.
    """
    model = DistributedDataParallel(AwkwardTranslator(5))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = getattr(torch.optim, kind)(trained, lr=0.02)
    train_step = subject.load(PAD=PAD, collate=collate, loss_fn=loss_fn, accumulate_gradients=accumulate_gradients)
    batches = draw_batches(random.Random(5), 4, micro_batches)
    own = batches[comm.rank] if comm.size > 1 else [pairs for rank in batches for pairs in rank]
    losses = [train_step(model, [collate(pairs) for pairs in own], optimizer, loss_fn) for _ in range(count)]
    return losses, state_row(model.module)


def trains_like_one_process_under_adam(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "Adam", 2, 20, init="torch")
    alone = world.run(steps, solution, COMM, "Adam", 2, 20, init="torch", size=1)[0]
    return all(losses == pytest.approx(alone[0], rel=1e-3) for losses, _ in ranks)


def ranks_agree_and_loss_falls(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "SGD", 2, 20, init="torch")
    return all(rank == ranks[0] for rank in ranks) and ranks[0][0][-1] < ranks[0][0][0]


def weights_are_those_of_one_process(world: World, mistaken: Subject, solution: Subject) -> bool:
    ranks = world.run(steps, mistaken, COMM, "SGD", 10, 3, init="torch")
    alone = world.run(steps, solution, COMM, "SGD", 10, 3, init="torch", size=1)[0]
    return all(weights == pytest.approx(alone[1], rel=1e-9) for _, weights in ranks)


def epochs(subject: Subject, rank: int) -> list[list[int]]:
    """Runs on each rank: the numbers of the samples that the loader yields in two epochs."""
    loader = subject.load()(NumberedSet(22, seed=3), batch_size=4, seed=7)
    seen = []
    for epoch in range(2):
        getattr(loader.sampler, "set_epoch", lambda epoch: None)(epoch)
        seen.append([number for inputs, _ in loader for number in ids_of(inputs)])
    return seen


def each_epoch_draws_every_sample_in_another_order(world: World, mistaken: Subject, solution: Subject) -> bool:
    first, second = zip(*world.run(epochs, mistaken, RANK, init="horovod"), strict=True)
    return first != second and all(set().union(*epoch) == set(range(22)) for epoch in (first, second))


def accuracies(subject: Subject, rank: int) -> list[float]:
    """Runs on each of four ranks: the accuracy on ten samples, two of them padding, of a model that is always right,
    and of one that is always wrong."""
    distributed_accuracy = subject.load()
    indices = torch.tensor([*range(10), 0, 1])[rank::4]
    return [distributed_accuracy(torch.full((3,), right), indices, 10) for right in (True, False)]


def is_one_if_all_is_right_and_zero_if_nothing_is(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(accuracies, mistaken, RANK, init="torch") == [[1.0, 0.0]] * 4


def gradients_by(reducer_of: Callable | None) -> list[float]:
    """Runs on each rank: the gradients after a backward pass, by a reducer, or by DistributedDataParallel."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    reducer = reducer_of(model, [[3], [2], [1], [0]]) if reducer_of else None
    batch = torch.randn(8, 3, dtype=torch.float64).tensor_split(dist.get_world_size())[dist.get_rank()]
    forward = model if reducer else DistributedDataParallel(model)
    forward(batch).square().mean().backward()
    if reducer:
        reducer.finish()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist()


def gradients_by_a_student(subject: Subject) -> list[float]:
    """Runs on each rank: the gradients by the student's reducer."""
    return gradients_by(subject.load())


def gradients_are_those_of_ddp(world: World, mistaken: Subject, solution: Subject) -> bool:
    own = world.run(gradients_by_a_student, mistaken, init="torch")
    right = world.run(gradients_by, None, init="torch")
    return np.allclose(own, right, rtol=1e-12)


def split_and_whole(subject: Subject) -> bool:
    """Runs on each rank: whether the output of a split MLP is that of the whole one."""

    def summed(x: torch.Tensor, group: Any = None) -> torch.Tensor:
        total = x.detach().clone()
        dist.all_reduce(total)
        return total

    torch.manual_seed(0)
    mlp = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).double()
    part = subject.load(copy_to_ranks=lambda x, group=None: x, sum_over_ranks=summed)(mlp)
    x = torch.randn(5, 3, dtype=torch.float64)
    return torch.allclose(part(x), mlp(x), rtol=1e-12)


def output_is_that_of_one_process(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(world.run(split_and_whole, mistaken, init="torch"))


def swapped(subject: Subject, comm: Any) -> list[float]:
    """Runs on each rank: what it gets from its partner, of ten numbers that each of them has."""
    return subject.load()(comm, np.full(10, float(comm.rank))).tolist()


def ten_numbers_come_from_each_partner(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(swapped, mistaken, COMM) == [[float(rank ^ 1)] * 10 for rank in range(4)]


def reduced(subject: Subject, comm: Any) -> list[float]:
    """Runs on each rank: its chunk of the sum of all ranks' arrays."""
    return subject.load()(comm, np.arange(30.0) * (comm.rank + 1)).tolist()


def every_rank_has_its_chunk(world: World, mistaken: Subject, solution: Subject) -> bool:
    return world.run(reduced, mistaken, COMM) == [each.tolist() for each in np.array_split(np.arange(30.0) * 10, 4)]


def gradient_of_all(m: float, n: float, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """The mean of the ranks' gradients, which is that of all samples where they have equally many."""
    error = 2 * (m * x + n - y)
    gradient = hvd.allreduce(torch.stack([(error * x).mean(), error.mean()]))
    return tuple(gradient.tolist())


def path(subject: Subject) -> list[list[float]]:
    """Runs on each rank: the path that its samples give, in one epoch."""
    x, y = torch.linspace(-1, 2, 16).double(), torch.linspace(2, -1, 16).double() ** 2
    distributed_path = subject.load(distributed_gradient=gradient_of_all)
    return distributed_path(x, y, 8, lambda step: 0.05, 3, (1.0, 1.0), 5).tolist()


def path_is_that_of_one_process(world: World, mistaken: Subject, solution: Subject) -> bool:
    [alone] = world.run(path, solution, init="horovod", size=1)
    return all(np.allclose(own, alone, rtol=1e-12) for own in world.run(path, mistaken, init="horovod"))


def rest_of_shares(subject: Subject, rank: int) -> list[list[int]]:
    """Runs on each of four ranks: its samples of an epoch, and those that are left when two steps are made."""
    sampler, shares = subject.load()(22, rank, 4, seed=7), []
    for consumed in (0, 8):
        sampler.set_position(1, consumed)
        shares.append([*sampler])
    return shares


def ranks_go_on_where_they_stopped(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(whole[2:] == rest for whole, rest in world.run(rest_of_shares, mistaken, RANK))


def losses_of(subject: Subject, rank: int) -> list[float]:
    """Runs on each rank: the losses of a training of three epochs."""
    model = NumberedNet(5 + rank, plain=True, norm=False)
    return subject.load()(model, NumberedSet(32, seed=3), 3, 8, 0.02, 7, torch.device("cpu"))


def loss_falls_on_every_rank(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(losses[-1] < losses[0] for losses in world.run(losses_of, mistaken, RANK, init="torch"))


def sharded_losses(subject: Subject, earlier: dict[str, str]) -> tuple[list[float], list[float]]:
    """Runs on each rank: the losses of three steps, sharded and data parallel. earlier: solutions of TODOs that it
    calls."""
    given = {todo: Subject(todo, source).load() for todo, source in earlier.items()}
    losses = []
    for sharded in (True, False):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(4, 4).double() for _ in range(3)]
        model = subject.load(**given)(layers) if sharded else torch.nn.Sequential(*layers)
        optimizer, own = torch.optim.SGD(model.parameters(), 0.1), []
        for step in range(3):
            x = torch.full((2, 4), 1.0 + step + dist.get_rank(), dtype=torch.float64)
            loss = model(x).square().mean()
            loss.backward()
            for each in () if sharded else model.parameters():
                dist.all_reduce(each.grad)
                each.grad /= dist.get_world_size()
            optimizer.step()
            optimizer.zero_grad()
            own.append(loss.item())
        losses.append(own)
    return losses[0], losses[1]


def sharded_losses_are_those_of_data_parallel_training(world: World, mistaken: Subject, solution: Subject) -> bool:
    cells = solution_cells(find_lab(REPOSITORY, "13_fully_sharded").source)
    earlier = {todo: cells[todo] for todo in ("shard", "gathered", "reduce_scattered")}
    ranks = world.run(sharded_losses, mistaken, earlier, init="torch")
    return all(sharded == pytest.approx(plain) for sharded, plain in ranks)


def parts_of_operations_in_a_row_are_right(world: World, mistaken: Subject, solution: Subject) -> bool:
    times = [("compute", 0, 4), ("communication", 3, 6), ("compute", 7, 9), ("communication", 8, 10)]
    spans = [Span(kind, float(start), float(end), kind) for kind, start, end in times]
    return mistaken.load()(spans) == solution.load()(spans)


# The check of the usual kind, for each mistake in the labs' `lab.toml`, by lab and variant: of a world, of the subject
# with the mistake, and of the solution's.
USUAL_CHECKS: dict[tuple[str, str], Callable[[World, Subject, Subject], bool]] = {
    ("02_hello_ranks", "both_send_first"): ten_numbers_come_from_each_partner,
    ("04_collectives", "whole_arrays"): every_rank_has_its_chunk,
    ("05_distributed_sgd", "whole_batch"): path_is_that_of_one_process,
    ("08_ddp_cnn", "past_the_wrapper"): loss_falls_on_every_rank,
    ("09_inside_ddp", "sent_when_full"): gradients_are_those_of_ddp,
    ("10_ddp_transformer", "gradients_summed"): trains_like_one_process_under_adam,
    ("10_ddp_transformer", "rank_0_loss_only"): ranks_agree_and_loss_falls,
    ("10_ddp_transformer", "ten_allreduces_for_one"): weights_are_those_of_one_process,
    ("11_failover", "dealt_then_skipped"): ranks_go_on_where_they_stopped,
    ("12_beyond_data_parallel", "f_left_out"): output_is_that_of_one_process,
    ("13_fully_sharded", "never_freed"): sharded_losses_are_those_of_data_parallel_training,
    ("14_where_time_goes", "durations_added"): parts_of_operations_in_a_row_are_right,
    ("07_horovod_mnist", "whole_set_on_every_rank"): each_epoch_draws_every_sample_in_another_order,
    ("06_distributed_sampler", "padding_counted"): is_one_if_all_is_right_and_zero_if_nothing_is,
}
TRAPS = [(lab, mistake) for lab in labs_of_the_kit(REPOSITORY) for mistake in mistakes_let_pass(lab)]


@pytest.fixture(scope="module", autouse=True)
def functions_travel_by_value() -> None:
    """So that no rank imports this module, and nbgrader with it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.sample(3)
@pytest.mark.parametrize(("lab", "mistake"), TRAPS, ids=[each.mistake.replace(" ", "-") for _, each in TRAPS])
def test_a_mistake_that_usual_checks_let_pass_is_found_by_ours(world, lab, mistake):
    passes = USUAL_CHECKS[lab.name, mistake.variant]
    mistaken = Subject(mistake.todo, load_variants(lab.variants)[1][mistake.todo][mistake.variant].source)
    solution = Subject(mistake.todo, solution_cells(lab.source)[mistake.todo])
    assert passes(world, mistaken, solution)
    assert passes(world, solution, solution), "a usual check that right answers fail would prove nothing"
    check = {check.todo: check for check in load_checks(lab.checks)}[mistake.todo]
    result = contract.run(check, world, mistaken, SEED)
    assert finding(lab, mistake) in [each.key for each in result.findings], show.text(result)
    assert result.score < result.points
