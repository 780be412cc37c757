"""Grades mutants in sandboxes, as submissions are graded, each at its own TODO.

A sandbox serves many mutants, one after the other: starting its ranks takes longer than grading. If one of them spoils
it for the next, the answer that they are made from does not pass there any more; then each gets a sandbox of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from tqdm import tqdm

from autograde.contract.check import Check, draw_cases, judge
from autograde.labs.answers import Answer
from autograde.labs.folder import Lab, load_checks
from autograde.mutants.answers import Mutant
from autograde.sandbox.examine import Examination
from autograde.sandbox.pool import Cancelled, Sandboxes
from autograde.sandbox.resources.limits import Limits

TOGETHER = 25  # mutants in one sandbox
TOO_SLOW = "too-slow"  # the finding, of a TODO as of a run on the ranks
# A sandbox for all of them, so no end to its time but that of each TODO and of the sandbox.
LIMITS = replace(Limits(), submission=86400.0)


class MutantsError(Exception):
    """Mutants cannot be graded. Says why."""


@dataclass(frozen=True)
class Outcome:
    """What became of one answer or mutant.

    finding: key of the first finding that costs points; None if it keeps all. unjudged: why a person would have to
    grade it; None if nobody has to. seed: of the cases.
    """

    finding: str | None
    unjudged: str | None
    seed: int

    @property
    def refused(self) -> bool:
        """Whether it loses points."""
        return self.finding is not None


def grade_source(examination: Examination, check: Check, source: str) -> Outcome:
    """Grade one cell, case by case, until it has lost points. Raises Cancelled."""
    cases, seen, seed = draw_cases(check, examination.seed), [], examination.seed
    for number, case in enumerate(cases, 1):
        gathered = examination.gather(check, source, [case])
        if gathered.lost is not None:
            return Outcome(gathered.lost, None, seed)
        if gathered.reason is not None:
            return Outcome(None, gathered.reason, seed)
        seen += gathered.evidence or []
        try:
            result = judge(check, cases[:number], seen, seed)
        except Exception as error:
            return Outcome(None, f"the verdict could not read the evidence: {type(error).__name__}: {error}", seed)
        if result.score < result.points:
            return Outcome(result.findings[0].key, None, seed)
    return Outcome(None, None, seed)


class Grader:
    """Grades answers and mutants of one lab. checks: by TODO."""

    def __init__(self, lab: Lab, sandboxes: Sandboxes, seed: int, jobs: int, cancel: threading.Event) -> None:
        self.lab, self.sandboxes, self.seed, self.jobs, self.cancel = lab, sandboxes, seed, jobs, cancel
        self.checks = {check.todo: check for check in load_checks(lab.checks)}

    def answers_pass(self, answers: Sequence[Answer]) -> None:
        """Raise MutantsError for an answer that does not keep all points: its mutants would tell nothing."""

        def failing(group: list[Answer]) -> list[str]:
            if self.cancel.is_set():
                raise Cancelled
            with Examination(self.sandboxes, self.seed) as examination:
                outcomes = [grade_source(examination, self.checks[one.todo], one.source) for one in group]
            return [
                f"{one.todo}, {one.variant}: {outcome.finding or outcome.unjudged}"
                for one, outcome in zip(group, outcomes, strict=True)
                if outcome != Outcome(None, None, self.seed)
            ]

        with self.workers() as pool:
            groups = [list(group) for _, group in groupby(answers, key=lambda answer: answer.todo)]
            looked_at = tqdm(
                pool.map(failing, groups), f"{self.lab.name}, right answers", len(groups), unit="TODO", leave=False
            )
            wrong = [line for lines in looked_at for line in lines]
        if wrong:
            lines = "\n  ".join(wrong)
            raise MutantsError(f"{self.lab.name}: right answers lose points (seed {self.seed}):\n  {lines}")

    def grade(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Outcome]]:
        """The outcome of each, as they arrive. Raises Cancelled.

        Those that were too slow, or could not be judged, are graded once more in the end, one at a time: perhaps it was
        others that kept them from the processors.
        """
        again = []
        with self.workers() as pool:
            running = [pool.submit(self.grade_together, batch) for batch in batches(mutants)]
            for done in as_completed(running):
                for mutant, outcome in done.result():
                    if outcome.finding == TOO_SLOW or outcome.unjudged is not None:
                        again.append(mutant)
                    else:
                        yield mutant, outcome
        for mutant in again:
            yield from self.grade_together([mutant])

    @contextmanager
    def workers(self) -> Iterator[ThreadPoolExecutor]:
        """A thread for each sandbox. What ends the block early ends them."""
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                yield pool
            except BaseException:  # Ctrl-C too: sandboxes have sessions of their own, which do not get its signal
                self.cancel.set()
                pool.shutdown(cancel_futures=True)
                raise

    def grade_together(self, batch: list[Mutant]) -> list[tuple[Mutant, Outcome]]:
        """The outcomes of some mutants of one answer, in one sandbox, or apart where one of them spoils it."""
        if self.cancel.is_set():
            raise Cancelled
        answer = batch[0].answer
        check = self.checks[answer.todo]
        with Examination(self.sandboxes, self.seed) as examination:
            outcomes = [(mutant, grade_source(examination, check, mutant.source)) for mutant in batch]
            if len(batch) == 1 or grade_source(examination, check, answer.source) == Outcome(None, None, self.seed):
                return outcomes
        return [outcome for mutant in batch for outcome in self.grade_together([mutant])]


@contextmanager
def grader(lab: Lab, seed: int, jobs: int, expected: int = 0) -> Iterator[Grader]:
    """A grader of a lab's mutants with `jobs` sandboxes at once. expected: see `Sandboxes`.

    Raises LabError, SandboxRefused.
    """
    cancel = threading.Event()
    with Sandboxes(lab, LIMITS, expected=expected, cancel=cancel) as sandboxes:
        yield Grader(lab, sandboxes, seed, jobs, cancel)


def batches(mutants: Sequence[Mutant]) -> Iterator[list[Mutant]]:
    """The mutants in order, TOGETHER or fewer of one answer at a time."""
    for _, group in groupby(mutants, key=lambda mutant: mutant.answer):
        alike = list(group)
        yield from (alike[start : start + TOGETHER] for start in range(0, len(alike), TOGETHER))
