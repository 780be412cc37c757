"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from autograde.cells.subject import Subject
from autograde.fixtures.numbered_net import NumberedSet, ids_of
from course.world import RANK, World


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


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "whole_set_on_every_rank": each_epoch_draws_every_sample_in_another_order,
}
