"""The contract of a check: cases, probe, schema, verdict.

A lab's `checks/` holds one module per TODO, which sets CHECK to a `Check`. Its parts meet only in plain data::

    cases(rng)                    -> inputs, plain JSON
    probe(world, subject, case)   -> evidence, plain JSON: runs the student's code on the ranks
    schema(case)                  -> what evidence for this case looks like, right or wrong, as JSON Schema
    verdict(case, evidence)       -> findings: a pure function, which never meets the student's objects

In the student's notebook cases, probe and verdict run in turn. When a class is graded, `probe` runs apart from all the
others, only JSON crosses between them, and a verdict sees only what fits the schema.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from autograde.contract.gpu import ON_GPU
from autograde.contract.subject import noted
from autograde.contract.trouble import stops
from autograde.contract.verdict import NOT_DONE, Diagnosis, Finding, cost, cut, settle

# Members of a check that its probe may need, so that they go into the sandbox.
PROBE_SIDE = frozenset({"todo", "points", "probe", "run", "call", "calls", "given", "needs", "deadline"})

PARTS = ("cases", "probe", "schema", "verdict")  # what a check must define
LATER = "later"  # state of a row that only the grader judges
MOST_REMARKS = 3  # of one result: what ranks note is not trusted
LARGEST = 1e300  # beyond it a number counts as not finite: a verdict may still add and multiply what it gets


@dataclass(frozen=True)
class Demand:
    """That a training is on record as a run in batch, which is handed in with the notebook; see
    `autograde.slurm.record_verdict`.

    points: what it costs where there is no such record, or none to believe. ranks: that it had at least. In a rubric it
    is a row, `autograde.rubric.RecordCriterion`.
    """

    points: float
    ranks: int = 2


class Check:
    """Base class of all checks. A subclass sets `todo` and `points` and writes the four parts.

    todo: name of the function or class that the student writes; its cell has this as `grade_id`.
    points: what the TODO is worth. consolidation: what there is to learn from it, in at most two sentences, for a
    student who has passed. batch: the record that is asked for, if one is; then `again` is a fifth part.
    prices: points for findings that cost something else here than in general, by key; one that hides others still costs
    what the dearest of them does, see `autograde.contract.verdict.hiding`.
    """

    parts = PARTS
    todo: str
    points: float
    consolidation: str = ""
    batch: Demand | None = None
    prices: Mapping[str, float] = MappingProxyType({})

    def cases(self, rng: random.Random) -> list[dict]:
        """Inputs for the probe, as plain JSON. Draw from `rng`, so that each grading has its own."""
        raise NotImplementedError

    def drawn_cases(self, seed: int) -> list[dict]:
        """All cases for `seed`, that on a GPU last: it may end the ranks."""
        cases = self.cases(random.Random(f"{seed}:{self.todo}"))
        on_gpu = self.gpu_case(random.Random(f"{seed}:{self.todo}:{ON_GPU}"))
        return [*cases, *([] if on_gpu is None else [{**on_gpu, ON_GPU: True}])]

    def gpu_case(self, rng: random.Random) -> dict | None:
        """One more case, which runs on a GPU, to find tensors that are not moved there; see `autograde.contract.gpu`.

        A small one: a single call of a few samples shows it, on as few ranks as have to communicate. None: there is
        nothing to move.
        """
        return None

    def probe(self, world: Any, subject: Any, case: dict) -> Any:
        """Run the student's code on ranks of `world` and return what was seen, as plain JSON."""
        raise NotImplementedError

    def schema(self, case: dict) -> dict:
        """JSON Schema of what `probe` gives for `case`; `autograde.contract.schema` has the parts. The closer, the
        better.

        What does not fit it never reaches `verdict`.
        """
        raise NotImplementedError

    def verdict(self, case: dict, evidence: Any) -> Sequence[Finding | Diagnosis]:
        """What is wrong with this evidence, which fits `schema`. Empty: nothing.

        The evidence may be a lie all the same. It must cost nothing only where its numbers are right for the case.
        """
        raise NotImplementedError

    def grade(self, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
        """The result for the evidence gathered on `cases`. Each kind of finding costs once, at its dearest."""
        settled = settle([self.verdict(case, evidence) for case, evidence in zip(cases, gathered, strict=False)])
        findings = [
            Finding(each.key, cut(each.message), min(self.points, cost(each, self.prices)), cut(each.report))
            for each in settled
        ]
        lost = math.fsum(finding.points for finding in findings)
        learnt, remarks = "" if findings else self.consolidation, remarks_on(gathered)
        return Result(self.todo, self.points, max(0.0, self.points - lost), findings, seed, learnt, remarks)

    def without_evidence(self, key: str, message: str, seed: int | None = None) -> Result:
        """The result where there is no evidence to judge, and all points are lost."""
        return Result(self.todo, self.points, 0.0, [Finding(key, message, self.points)], seed)

    def again(self, run: dict, most: int) -> dict | None:
        """The case in which the probe repeats the first epochs of a run on record (`runs` in `course.batch.record`).

        most: ranks that there are for it. The evidence holds, as the result of each rank, the losses of the epochs as
        "losses" and a fingerprint of the data as "data"; the probe's subject has the whole notebook's cells. None: it
        cannot be repeated here.
        """
        return None


@dataclass(frozen=True)
class Row:
    """One criterion of a rubric, and whether it holds; see `autograde.rubric`.

    name, says, points: of the criterion. state: "holds", "fails", "unjudged" where nobody can tell, or LATER, of what
    only the grader sees; what holds gives points, and so does what is judged later, until it is. finding: where it
    fails, the words. reason: where it is unjudged, why.
    """

    name: str
    says: str
    points: float
    state: str
    finding: Finding | None = None
    reason: str = ""

    @property
    def score(self) -> float:
        """The points that it gives."""
        return self.points if self.state in ("holds", LATER) else 0.0

    @classmethod
    def from_plain(cls, data: dict) -> Row:
        """The inverse of `asdict`."""
        return cls(**{**data, "finding": Finding(**data["finding"]) if data["finding"] else None})


@dataclass(frozen=True)
class Result:
    """The outcome of one check: findings, and the points that are left.

    consolidation: of the check, if it passed. remarks: what there is to say besides, which costs nothing. rows: the
    rubric, if the check is one; then the findings are why runs broke off, or why nothing was judged, and those of its
    rows that fail.
    """

    todo: str
    points: float
    score: float
    findings: list[Finding] = field(default_factory=list)
    seed: int | None = None
    consolidation: str = ""
    remarks: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def started(self) -> bool:
        """Whether there is more than the stub that was released."""
        return [finding.key for finding in self.findings] != [NOT_DONE]

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Result:
        """The inverse of `plain`."""
        findings = [Finding(**each) for each in data["findings"]]
        return cls(**{**data, "findings": findings, "rows": [Row.from_plain(row) for row in data.get("rows", ())]})


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
    """Give the verdict on the evidence gathered for `cases`.

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
    """Cases, probe and verdict at once: what a student's notebook does."""
    cases = draw_cases(check, seed)
    return judge(check, cases, gather(check, world, subject, cases), seed)
