"""Checks one cell on real ranks, by some of its cases or by one after the other, as a student's notebook does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from seeds import SEED

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract.check import Check
from autograde.contract.result import Result
from autograde.contract.trouble import stops
from autograde.labs.folder import Lab, load_checks
from autograde.sandbox.untrusted import problem
from course.world import World


@cache
def checks_of(lab: Lab) -> Mapping[str, Check]:
    """The lab's checks by TODO."""
    return {check.todo: check for check in load_checks(lab.checks)}


def gathered(world: World, check: Check, source: str, cases: list[dict]) -> list:
    """The evidence on one cell by these cases. It must fit the schema, as any that is honest."""
    seen = contract.gather(check, world, Subject(check.todo, source), cases)
    misfits = [problem(check.schema(case), evidence) for case, evidence in zip(cases, seen, strict=False)]
    assert not any(misfits), f"seed {SEED}: {misfits}"
    return seen


def checked(world: World, check: Check, source: str, cases: list[dict]) -> Result:
    """Check one cell by these cases."""
    return contract.judge(check, cases, gathered(world, check, source, cases), SEED)


def results_by_case(world: World, check: Check, source: str, most: int | None = None) -> Iterator[Result]:
    """Check one cell by its first case, then by its first two, and so on. most: of the cases; None for all."""
    cases, seen = contract.draw_cases(check, SEED)[:most], []
    for number, case in enumerate(cases, 1):
        seen += gathered(world, check, source, [case])
        yield contract.judge(check, cases[:number], seen, SEED)
        if stops(seen[-1]):  # a student's check ends here, too
            return
