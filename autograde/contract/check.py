"""The contract of a check: what those that draw cases, run probes and judge evidence need of one.

A lab's `checks/` holds one module per TODO, which sets CHECK to a `Check`; `autograde.rubric` makes one. Its parts meet
only in plain data::

    drawn_cases(seed)             -> inputs, plain JSON
    probe(world, subject, case)   -> evidence, plain JSON: runs the student's code on the ranks
    schema(case)                  -> what evidence for this case looks like, right or wrong, as JSON Schema
    grade(cases, gathered)        -> the result: a pure function, which never meets the student's objects

In the student's notebook all of them run in turn. When a class is graded, `probe` runs apart from all the others, only
JSON crosses between them, and `grade` sees only what fits the schema.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograde.cells.subject import noted
from autograde.contract.gpu import ON_GPU
from autograde.contract.result import Result, cut
from autograde.contract.trouble import stops

MOST_REMARKS = 3  # of one result: what ranks note is not trusted
LARGEST = 1e300  # beyond it a number counts as not finite: a judge may still add and multiply what it gets


@dataclass(frozen=True, kw_only=True)
class Demand:
    """That a training is on record as a run in batch, which is handed in with the notebook; see
    `autograde.slurm.record_verdict`. The row on it is `autograde.rubric.RecordCriterion`.

    ranks: that it had at least.
    """

    ranks: int = 2


class Check:
    """Base class of all checks.

    todo: name of the function or class that the student writes; its cell has this as `grade_id`.
    points: what the TODO is worth. consolidation: what there is to learn from it, in at most two sentences, for a
    student who has passed. batch: the record that is asked for, if one is.
    """

    todo: str
    points: float
    consolidation: str = ""
    batch: Demand | None = None

    def cases(self, rng: random.Random) -> list[dict]:
        """Inputs for the probe, as plain JSON. Draw from `rng`, so that each grading has its own."""
        raise NotImplementedError

    def gpu_case(self, rng: random.Random) -> dict | None:
        """One more case, which runs on a GPU, to find tensors that are not moved there; see `autograde.contract.gpu`.

        A small one: a single call of a few samples shows it, on as few ranks as have to communicate. None: there is
        nothing to move.
        """
        return None

    def drawn_cases(self, seed: int) -> list[dict]:
        """All cases for `seed`, that on a GPU last: it may end the ranks."""
        cases = self.cases(random.Random(f"{seed}:{self.todo}"))
        on_gpu = self.gpu_case(random.Random(f"{seed}:{self.todo}:{ON_GPU}"))
        return [*cases, *([] if on_gpu is None else [{**on_gpu, ON_GPU: True}])]

    def probe(self, world: Any, subject: Any, case: dict) -> Any:
        """Run the student's code on ranks of `world` and return what was seen, as plain JSON."""
        raise NotImplementedError

    def schema(self, case: dict) -> dict:
        """JSON Schema of what `probe` gives for `case`; `autograde.contract.schema` has the parts. The closer, the
        better.

        What does not fit it never reaches `grade`.
        """
        raise NotImplementedError

    def grade(self, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
        """The result for the evidence gathered on `cases`, which fits `schema`.

        The evidence may be a lie all the same: only what is right for the case may give points.
        """
        raise NotImplementedError

    def without_evidence(self, key: str, message: str, seed: int | None = None) -> Result:
        """The result where there is no evidence to judge, and all points are lost. key, message: of its finding."""
        raise NotImplementedError

    def again(self, run: dict, most: int) -> dict | None:
        """The case in which the probe repeats the first epochs of a run on record (`runs` in `course.batch.record`).

        most: ranks that there are for it. The evidence holds, as the result of each rank, the losses of the epochs as
        "losses" and a fingerprint of the data as "data"; the probe's subject has the whole notebook's cells. None: it
        cannot be repeated here.
        """
        return None


def plain(evidence: Any) -> Any:
    """`evidence` as it looks after a trip through JSON; so a notebook's check and a grading see the same.

    JSON has no NaN and no infinity: None stands for them, and for all beyond `LARGEST`.
    Raises TypeError for what JSON cannot carry: probes convert tensors with ``tolist()``.
    """
    return json.loads(
        json.dumps(evidence),
        parse_constant=lambda name: None,
        parse_float=lambda text: number if -LARGEST <= (number := float(text)) <= LARGEST else None,
        parse_int=lambda text: number if -LARGEST <= (number := int(text)) <= LARGEST else None,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """In this block, or decorated function, torch has one thread in this process, if it is loaded.

    Checks compute with tiny tensors, while ranks use the cores: with a thread for each core, cases that take 0.05 s
    take seconds on a busy machine.
    """
    torch = sys.modules.get("torch")
    if not hasattr(torch, "set_num_threads"):  # or another thread is just importing it
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def draw_cases(check: Check, seed: int) -> list[dict]:
    """The cases of `check` for `seed`: the same on every machine and day."""
    return plain(check.drawn_cases(seed))


def gather(check: Check, world: Any, subject: Any, cases: Iterable[dict]) -> list[Any]:
    """Run the probe on each case, in order; stop after one that the next cases would only repeat (see `stops`)."""
    gathered = []
    for case in cases:
        evidence = plain(check.probe(world, subject, case))
        gathered.append(evidence)
        if stops(evidence):
            break
    return gathered


@one_thread()
def judge(check: Check, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
    """The result for the evidence gathered on `cases`.

    Raises ValueError if evidence is missing, but for a run after which others are not tried (see `stops`) and of which
    there is something to be said: absent evidence must never count as a pass.
    """
    stopped = 0 < len(gathered) < len(cases) and stops(gathered[-1])
    result = check.grade(cases, gathered, seed)
    if len(gathered) != len(cases) and not (stopped and result.findings):
        raise ValueError(f"{check.todo}: {len(cases)} cases, but evidence for {len(gathered)}")
    return result


def remarks_on(gathered: list[Any]) -> list[str]:
    """What was noted on the ranks, as far as it is shown."""
    return [cut(remark) for remark in noted(gathered)[:MOST_REMARKS]]


def run(check: Check, world: Any, subject: Any, seed: int) -> Result:
    """Draw cases, run the probe and judge, at once: what a student's notebook does."""
    cases = draw_cases(check, seed)
    return judge(check, cases, gather(check, world, subject, cases), seed)
