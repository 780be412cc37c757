"""What a student's `process_group_from_slurm` answers, to many tasks of many steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import cloudpickle

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.probes.fresh_process import FreshProcess
from course.batch.srun_tasks import tasks_of

from . import decoys
from .answers import Answer, answer
from .decoys import decoyed

IN_A_ROW = 500  # jobs whose ports are compared
SCATTERED, APART = 400, 83  # jobs whose ports are looked at besides, and the step from one of them to the next
PATIENCE = 20.0  # seconds that the other process may take


class Seen(Evidence):
    """The answers, by step and rank. stepless: the type of the error without a step; empty if there was none. ports: of
    jobs in a row, a row for each of the first jobs; elsewhere: in another Python; error: what went wrong there.
    scattered: ports of jobs that lie apart."""

    steps: list[list[Answer]]
    stepless: str
    ports: list[list[str | None]]
    elsewhere: list[list[str | None]]
    error: str
    scattered: list[str | None]


def ports_of(function: Callable, jobs: list[int], count: int = IN_A_ROW, apart: int = 1) -> list[list[str | None]]:
    """The ports of jobs in a row; None where there is none. jobs: the first of each row. count: of a row's jobs, each
    `apart` from the one before."""

    def port(job: int) -> str | None:
        try:
            [task] = tasks_of("login", [1], job=job, wish=1, names=["login"], step=1)
            return str(function(task)["MASTER_PORT"])[:20]
        except Exception:
            return None

    with decoyed([], ["login"]):
        return [[port(first + number * apart) for number in range(count)] for first in jobs]


def ports_elsewhere(subject: Any, jobs: list[int]) -> list[list[str | None]]:
    """Runs in a process of its own."""
    return ports_of(subject.load(), jobs)


def without_step(function: Callable, step: dict) -> str:
    """The type of the error where there is no step."""
    with decoyed([], step["names"]):
        try:
            function({name: value for name, value in tasks_of(**step)[0].items() if "STEP" not in name})
        except Exception as error:
            return type(error).__name__
    return ""


def call(function: Callable, rank: CallRank, call: dict) -> Seen:
    """All answers here, and the ports in another Python, too."""
    with decoyed([], ["login"]), suppress(KeyError, OSError):  # what Slurm need not set, and programs: told below
        function(tasks_of("login", [1], names=["login"], step=1)[0])
    for module in (sys.modules[__name__], decoys):
        cloudpickle.register_pickle_by_value(module)  # another process has no modules of a lab
    jobs = call["jobs"]
    with FreshProcess(ports_elsewhere, rank.subject, jobs, salt=call["salt"]) as process:
        steps = [[answer(function, rank, task, step["names"]) for task in tasks_of(**step)] for step in call["steps"]]
        stepless, ports = without_step(function, call["steps"][0]), ports_of(function, jobs)
        there = process.answer(PATIENCE)
    [scattered] = ports_of(function, jobs[:1], SCATTERED, APART)
    return Seen(steps, stepless, ports, there["result"] or [], (there["error"] or "")[:300], scattered)


PROBE = CallProbe(Seen, call, deadline=30)
