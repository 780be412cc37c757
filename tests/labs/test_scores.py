"""What a mistake costs does not depend on the cases that are drawn: two students who make it lose the same points."""

from __future__ import annotations

import random

import pytest
from labs_under_test import LABS
from seeds import SEED

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.labs.answers import known_answers
from autograde.labs.folder import load_checks
from course.world import World

SAMPLE, SEEDS = 2, 4  # mistakes of a lab that are tried here, and with how many seeds; see `--every-mistake`
MANY = 20


def scores(world: World, check: contract.Check, source: str, seeds: list[int]) -> dict[int, float]:
    """The score of one answer by seed; ends with the first that is another one."""
    found: dict[int, float] = {}
    for seed in seeds:
        found[seed] = contract.run(check, world, Subject(check.todo, source), seed).score
        if len({*found.values()}) > 1:
            break
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_mistake_costs_the_same_whatever_cases_are_drawn(worlds, lab, pytestconfig, capsys):
    rng, every = random.Random(SEED), pytestconfig.getoption("every_mistake")
    known = [each for each in known_answers(lab) if each.due]
    checks = {check.todo: check for check in load_checks(lab.checks)}
    differ = []
    for number, answer in enumerate(known if every else rng.sample(known, min(SAMPLE, len(known)))):
        seeds = [rng.randrange(2**32) for _ in range(MANY if every else SEEDS)]
        found = scores(worlds.of(lab), checks[answer.todo], answer.source, seeds)
        name = f"{answer.todo} {answer.variant}"
        if len({*found.values()}) > 1:
            differ.append(f"{name}: {found}")
        if every:
            with capsys.disabled():
                print(f"{number + 1}/{len(known)} {name}: {sorted({*found.values()})}", flush=True)
    assert not differ, f"seed {SEED}\n" + "\n".join(differ)
