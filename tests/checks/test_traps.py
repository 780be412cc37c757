"""Mistakes that published graders of distributed training let pass, and what the labs' own checks say of them.

Each is run twice on real ranks: before a check of the usual kind, written here, which it passes, and before the lab's.
The table in the README is made from what these tests show.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import torch
from lab_packages import check_module
from seeds import SEED
from torch.nn.parallel import DistributedDataParallel

from autograde.build import instructor_notebook
from autograde.contract import check as contract
from autograde.contract import show
from autograde.contract.labs import find_lab, load_checks, load_variants
from autograde.contract.subject import Subject
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, state_row
from autograde.fixtures.numbered_net import NumberedSet, ids_of
from course.models.sentences import PAD, collate, loss_fn
from course.world import COMM, RANK, World

accumulate_gradients = check_module("10_ddp_transformer", "train_step").stand_in  # which lab 10's solution calls

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- made by tests/checks/test_traps.py -->\n", "<!-- end -->"


@dataclass(frozen=True)
class Trap:
    """A mistake, a check of the usual kind that it passes, and the lab's variant that makes it.

    usual: what that check looks at, in words. passes: that check: of a world, of the subject with the mistake, and of
    the solution's.
    """

    mistake: str
    usual: str
    passes: Callable[[World, Subject, Subject], bool]
    lab: str
    todo: str
    variant: str


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


TRAPS = [
    Trap(
        "gradients are summed, not averaged",
        "the loss under Adam, which is that of one process: Adam does not see a factor",
        trains_like_one_process_under_adam,
        "10_ddp_transformer",
        "train_step",
        "gradients_summed",
    ),
    Trap(
        "every rank gets rank 0's gradient",
        "all ranks hold the same weights, and the loss falls",
        ranks_agree_and_loss_falls,
        "10_ddp_transformer",
        "train_step",
        "rank_0_gradient_broadcast",
    ),
    Trap(
        "ten all-reduces where one is enough",
        "the weights are those of one process",
        weights_are_those_of_one_process,
        "10_ddp_transformer",
        "train_step",
        "ten_allreduces_for_one",
    ),
    Trap(
        "every rank trains on the whole set",
        "each epoch draws every sample, in another order",
        each_epoch_draws_every_sample_in_another_order,
        "07_horovod_mnist",
        "make_loader",
        "whole_set_on_every_rank",
    ),
    Trap(
        "ten samples on four ranks count as twelve",
        "the accuracy is 1 where all is right, 0 where nothing is, and the same on all ranks",
        is_one_if_all_is_right_and_zero_if_nothing_is,
        "06_distributed_sampler",
        "distributed_accuracy",
        "padding_counted",
    ),
]


def finding_due(trap: Trap) -> str:
    """The finding that the lab's check must have for the mistake."""
    return load_variants(find_lab(ROOT, trap.lab).variants)[1][trap.todo][trap.variant].finding


def table() -> str:
    """The README's table."""
    rows = ["| mistake | a usual check, which it passes | what Lockstep finds |", "|---|---|---|"]
    for trap in TRAPS:
        rows.append(f"| {trap.mistake} | {trap.usual} | `{finding_due(trap)}` in `{trap.todo}` of lab {trap.lab[:2]} |")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module", autouse=True)
def functions_travel_by_value() -> None:
    """So that no rank imports this module, and nbgrader with it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.mistake.replace(" ", "-"))
def test_a_mistake_that_usual_checks_let_pass_is_found_by_ours(world, trap):
    lab = find_lab(ROOT, trap.lab)
    mistaken = Subject(trap.todo, load_variants(lab.variants)[1][trap.todo][trap.variant].source)
    solution = Subject(trap.todo, {cell.id: cell.source for cell in instructor_notebook(lab).cells}[trap.todo])
    assert trap.passes(world, mistaken, solution)
    assert trap.passes(world, solution, solution), "a usual check that right answers fail would prove nothing"
    check = {check.todo: check for check in load_checks(lab.checks)}[trap.todo]
    result = contract.run(check, world, mistaken, SEED)
    assert finding_due(trap) in [finding.key for finding in result.findings], show.text(result)
    assert result.score < result.points


def test_the_readme_has_the_table_of_these_mistakes():
    text = (ROOT / "README.md").read_text()
    assert BEGIN in text, f"the README needs, between {BEGIN!r} and {END!r}:\n{table()}"
    assert text.partition(BEGIN)[2].partition(END)[0] == table(), f"the README's table is to be:\n{table()}"
