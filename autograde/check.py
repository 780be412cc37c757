"""The contract of a check: cases, probe, schema, verdict.

A lab's `checks.py` holds one `Check` per TODO. Its parts meet only in plain data::

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
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from course.report import REFINED

# States that say all; what each rank did adds nothing.
PLAIN = frozenset(REFINED.values())
# States after which the other cases are not tried.
STOPPING = PLAIN | {"hang", "too-slow", "rank-died"}

# What the states of a run mean for a student; {detail} is filled from the run.
MESSAGES = {
    "not-done": "This TODO is not done yet: the function raises NotImplementedError.",
    "no-such-name": "{detail}",
    "cell-fails": "The cell itself does not run: {detail}",
    "raised": "Your code raised an error: {detail}",
    "hang": "A deadlock: {detail}",
    "too-slow": "Not finished in time: {detail}",
    "too-much-output": "{detail}",
    "rank-died": "A rank died: {detail}",
    "bad-result": "{detail}",
}

# Errors that mean that a limit was met: the finding's key, how they are known, and what it means for a student.
RESOURCES = (
    ("output-limit", r"TooMuchOutput", "Print less: what a loop prints is printed in every round, by every rank."),
    (
        "file-limit",
        r"\[Errno (27|28)\]",
        "It wrote more to files than there is room for: the file, or the disk, is full.",
    ),
    (
        "memory-limit",
        r"MemoryError|can't allocate memory|Unable to allocate|Cannot allocate memory",
        "It asked for more memory than there is. How large do its arrays grow? Every rank holds its own.",
    ),
    (
        "process-limit",
        r"\[Errno 11\]|can't start new thread",
        "It started more processes or threads than there may be. The ranks are there already, others are not needed.",
    ),
)

LARGEST = 1e300  # beyond it a number counts as not finite: a verdict may still add and multiply what it gets
LONGEST = 4000  # characters of a finding's message or report

ALONE = "Only this cell is handed in: whatever it uses must be imported or defined in it."


@dataclass(frozen=True)
class Finding:
    """One thing a check saw.

    key: what kind of mistake, stable and short, e.g. ``sum-not-mean``.
    message: what was seen and what it means, for the student. Never the answer.
    points: what it costs.
    report: what each rank did, where that helps.
    """

    key: str
    message: str
    points: float
    report: str = ""


@dataclass(frozen=True)
class Demand:
    """That a training is on record as a run in batch, which is handed in with the notebook; see `autograde.records`.

    points: what it costs where there is no such record, or none to believe. ranks: that it had at least.
    """

    points: float
    ranks: int = 2


class Check:
    """Base class of all checks. A subclass sets `todo` and `points` and writes the four parts.

    todo: name of the function or class that the student writes; its cell has this as `grade_id`.
    points: what the TODO is worth. batch: the record that is asked for, if one is; then `again` is a fifth part.
    """

    todo: str
    points: float
    batch: Demand | None = None

    def cases(self, rng: random.Random) -> list[dict]:
        """Inputs for the probe, as plain JSON. Draw from `rng`, so that each grading has its own."""
        raise NotImplementedError

    def probe(self, world: Any, subject: Any, case: dict) -> Any:
        """Run the student's code on ranks of `world` and return what was seen, as plain JSON."""
        raise NotImplementedError

    def schema(self, case: dict) -> dict:
        """JSON Schema of what `probe` gives for `case`; `autograde.schema` has the parts. The closer, the better.

        What does not fit it never reaches `verdict`.
        """
        raise NotImplementedError

    def verdict(self, case: dict, evidence: Any) -> list[Finding]:
        """What is wrong with this evidence, which fits `schema`. Empty: nothing.

        The evidence may be a lie all the same. It must cost nothing only where its numbers are right for the case.
        """
        raise NotImplementedError

    def again(self, run: dict, most: int) -> dict | None:
        """The case in which the probe repeats the first epochs of a run on record (`runs` in `course.record`).

        most: ranks that there are for it. The evidence holds, as the result of each rank, the losses of the epochs as
        "losses" and a fingerprint of the data as "data"; the probe's subject has the whole notebook's cells. None: it
        cannot be repeated here.
        """
        return None


@dataclass(frozen=True)
class Result:
    """The outcome of one check: findings, and the points that are left."""

    todo: str
    points: float
    score: float
    findings: list[Finding] = field(default_factory=list)
    seed: int | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Result:
        """The inverse of `plain`."""
        return cls(**{**data, "findings": [Finding(**f) for f in data["findings"]]})


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


def draw_cases(check: Check, seed: int) -> list[dict]:
    """The cases of `check` for `seed`: the same on every machine and day."""
    return plain(check.cases(random.Random(f"{seed}:{check.todo}")))


def gather(check: Check, world: Any, subject: Any, cases: Iterable[dict]) -> list[Any]:
    """Run the probe on each case, in order; stop after one that the next cases would only repeat (see `stops`)."""
    gathered = []
    for case in cases:
        evidence = plain(check.probe(world, subject, case))
        gathered.append(evidence)
        if stops(evidence):
            break
    return gathered


def stops(evidence: Any) -> bool:
    """Whether this evidence tells of a hang, a dead rank, an error that others wait for, or a cell that cannot run.

    Another case would only cost the student more waiting for the same news.
    """
    if isinstance(evidence, dict) and "state" in evidence:  # what a run gave; a student's data in it has no say here
        states = [rank.get("state") for rank in evidence.get("ranks", []) if isinstance(rank, dict)]
        return evidence["state"] in [*STOPPING] or (evidence["state"] == "raised" and "waiting" in states)
    values = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    return any(stops(value) for value in values)


def judge(check: Check, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
    """Give the verdict on the evidence gathered for `cases`. Each kind of finding costs once, at its dearest.

    Raises ValueError if evidence is missing, but for a run after which others are not tried (see `stops`) and of which
    there is something to be said: absent evidence must never count as a pass.
    """
    stopped = 0 < len(gathered) < len(cases) and stops(gathered[-1])
    verdicts = [check.verdict(case, evidence) for case, evidence in zip(cases, gathered, strict=False)]
    if len(gathered) != len(cases) and not (stopped and verdicts[-1]):
        raise ValueError(f"{check.todo}: {len(cases)} cases, but evidence for {len(gathered)}")
    found: dict[str, Finding] = {}
    for finding in [finding for verdict in verdicts for finding in verdict]:
        if finding.key not in found or finding.points > found[finding.key].points:
            found[finding.key] = finding
    findings = [replace(each, message=cut(each.message), report=cut(each.report)) for each in found.values()]
    lost = math.fsum(finding.points for finding in findings)
    return Result(check.todo, check.points, max(0.0, check.points - lost), findings, seed)


def cut(text: str) -> str:
    """`text`, shortened in its middle if it is very long: parts of it may be the student's."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} [...] {text[-half:]}"


def run(check: Check, world: Any, subject: Any, seed: int) -> Result:
    """Cases, probe and verdict at once: what a student's notebook does."""
    cases = draw_cases(check, seed)
    return judge(check, cases, gather(check, world, subject, cases), seed)


def trouble(outcome: dict, points: float) -> list[Finding]:
    """Findings for a run that did not come to its end on every rank; none if it did.

    outcome: what `course.world.Outcome.plain` gives. points: what the TODO is worth, all of which is lost.
    A check calls this first, and reads the results only where it returns nothing.
    """
    state, detail = outcome["state"], outcome["detail"]
    if state == "ok":
        return []
    found = raised(detail, points, "" if state in PLAIN else outcome["report"], state)
    if any((rank["error"] or {}).get("type") == "NameError" for rank in outcome["ranks"]):
        found = replace(found, message=f"{found.message} {ALONE}")
    return [found]


def raised(text: str, points: float, report: str = "", state: str = "raised") -> Finding:
    """The finding for an error that the student's code raised; one of its own where that means that a limit was met.

    text: the error, its type included. points: what it costs. report: what each rank did. state: of the run.
    """
    message = MESSAGES[state].format(detail=text)
    if state in (*PLAIN, "raised"):
        for key, known_by, meaning in RESOURCES:
            if state == "too-much-output" or re.search(known_by, text):
                return Finding(key, f"{message} {meaning}", points, report)
    return Finding(state, message, points, report)
