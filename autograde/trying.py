"""`lockstep try`: what a check says to one answer, or to all of a TODO, for whoever writes the check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract import show
from autograde.contract.call_probe import CallProbe
from autograde.contract.check import Check
from autograde.contract.result import Result
from autograde.labs.answers import Answer, known_answers
from autograde.labs.folder import Lab, LabError, load_checks, load_ranks
from course.world import COMM
from course.world.rank_report import RankReport
from course.world.report import Outcome, judge_state
from course.world.subworld import describe_error

if TYPE_CHECKING:
    from course.world import World


class ThisProcess:
    """Stands in for a `World` where a TODO runs on one rank: it calls in this process.

    Nothing that is communicated is recorded, and nothing ends a call that hangs.
    """

    def attempt(self, function: Callable, *args: Any, **how: Any) -> Outcome:
        """See `World.attempt`."""
        began, rank = time.monotonic(), RankReport(0, 0, "returned")
        try:
            rank.result = function(*(MPI.COMM_SELF if each is COMM else each for each in args))
        except Exception as error:  # whatever the answer raises is what the check is tried on
            rank.fail(describe_error(error))
        return Outcome(judge_state([rank]), [rank], time.monotonic() - began)


def answer_to(lab: Lab, todo: str, name: str) -> Answer:
    """An answer. name: "solution", the name of a variant, or a file. Raises LabError."""
    known = {each.variant: each for each in known_answers(lab) if each.todo == todo}
    if name in known:
        return known[name]
    if Path(name).is_file():
        return Answer(todo, name, Path(name).read_text(encoding="utf-8"))
    raise LabError(f"{name} is no file, and no answer to {todo} in {lab.name}: there are {', '.join(sorted(known))}")


def needs_ranks(check: Check, cases: Sequence[dict]) -> bool:
    """Whether a check runs on several ranks, or with a library that has to be started."""
    if not isinstance(check.probe, CallProbe) or check.probe.needs:
        return True
    return any(len(case["ranks"]) > 1 if "ranks" in case else case.get("size", 1) > 1 for case in cases)


def beside_the_cell(gathered: Sequence[dict]) -> str:
    """The first error that comes from no line of the cell, so probably from the probe, as Python shows it."""
    ranks = (rank for outcome in gathered for rank in outcome["ranks"])
    found = next((rank["error"] for rank in ranks if rank["error"] and rank["error"]["line"] is None), None)
    return f"\n\nAn error in no line of the cell, so look at the probe:\n\n{found['traceback']}" if found else ""


def try_answer(lab: Lab, todo: str, name: str = "solution", seed: int = 1) -> str:
    """What the check of `todo` says to an answer, as text. name: see `answer_to`. seed: of the cases. A TODO that needs
    no ranks is called in this process, which takes a second; another on a world of ranks. Raises LabError."""
    with trial(lab, todo, seed) as tried:
        answer = answer_to(lab, todo, name)
        result, gathered = tried(answer.source)
    unlike = answer.due and answer.due not in [finding.key for finding in result.findings]
    return show.text(result) + beside_the_cell(gathered) + (f"\n\nIts title expects [{answer.due}]." if unlike else "")


def try_all(lab: Lab, todo: str, seed: int = 1) -> Iterator[tuple[bool, str]]:
    """Each right answer and each mistake of `todo`, in their order: whether the check says what is due, and a line on
    that. seed: of the cases. Raises LabError."""
    with trial(lab, todo, seed) as tried:
        for answer in (each for each in known_answers(lab) if each.todo == todo):
            result, _ = tried(answer.source)
            keys = [finding.key for finding in result.findings]
            fits = answer.due in keys and result.score < result.points if answer.due else result.passed
            seen = f"{answer.variant}: {result.score:g} of {result.points:g}, {', '.join(keys) or 'passed'}"
            yield fits, f"ok  {seen}" if fits else f"NOT {seen}; due is {answer.due or 'a pass'}"


def world_of(lab: Lab) -> World:
    """The ranks that the checks of `lab` need. Raises LabError."""
    from course.world import World  # only now: it takes half of the second that a TODO without ranks takes

    return World(load_ranks(lab.checks))


@contextmanager
def trial(lab: Lab, todo: str, seed: int) -> Iterator[Callable[[str], tuple[Result, list]]]:
    """A function that tries the check of `todo` on the source of an answer, and gives the result and the evidence.
    Raises LabError."""
    checks = {check.todo: check for check in load_checks(lab.checks)}
    if todo not in checks:
        raise LabError(f"{lab.name} has no TODO {todo}; it has {', '.join(checks)}")
    check = checks[todo]
    cases = contract.draw_cases(check, seed)
    with world_of(lab) if needs_ranks(check, cases) else nullcontext(ThisProcess()) as world:

        def tried(source: str) -> tuple[Result, list]:
            gathered = contract.gather(check, world, Subject(todo, source), cases)
            return contract.judge(check, cases, gathered, seed), gathered

        yield tried
