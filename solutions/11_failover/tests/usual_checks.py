"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from autograde.cells.subject import Subject
from course.world import RANK, World


def rest_of_shares(subject: Subject, rank: int) -> list[list[int]]:
    """Runs on each of four ranks: its samples of an epoch, and those that are left when two steps are made."""
    sampler, shares = subject.load()(22, rank, 4, seed=7), []
    for consumed in (0, 8):
        sampler.set_position(1, consumed)
        shares.append([*sampler])
    return shares


def ranks_go_on_where_they_stopped(world: World, mistaken: Subject, solution: Subject) -> bool:
    return all(whole[2:] == rest for whole, rest in world.run(rest_of_shares, mistaken, RANK))


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "dealt_then_skipped": ranks_go_on_where_they_stopped,
}
