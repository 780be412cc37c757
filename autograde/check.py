"""The contract of a check: cases, probe, verdict.

A lab's `checks.py` holds one `Check` per TODO. Its three parts meet only in plain data::

    cases(rng)                    -> inputs, plain JSON
    probe(world, subject, case)   -> evidence, plain JSON: runs the student's code on the ranks
    verdict(case, evidence)       -> findings: a pure function, which never meets the student's objects

In the student's notebook all parts run in turn. When a class is graded, `probe` runs apart from `cases` and `verdict`,
and only JSON crosses between them.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
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
    "rank-died": "A rank died: {detail}",
    "bad-result": "{detail}",
}

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


class Check:
    """Base class of all checks. A subclass sets `todo` and `points` and writes the three parts.

    todo: name of the function or class that the student writes; its cell has this as `grade_id`.
    points: what the TODO is worth.
    """

    todo: str
    points: float

    def cases(self, rng: random.Random) -> list[dict]:
        """Inputs for the probe, as plain JSON. Draw from `rng`, so that each grading has its own."""
        raise NotImplementedError

    def probe(self, world: Any, subject: Any, case: dict) -> Any:
        """Run the student's code on ranks of `world` and return what was seen, as plain JSON."""
        raise NotImplementedError

    def verdict(self, case: dict, evidence: Any) -> list[Finding]:
        """What is wrong with this evidence. Empty: nothing."""
        raise NotImplementedError


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

    Raises TypeError for what JSON cannot carry: probes convert tensors with ``tolist()``.
    """
    return json.loads(json.dumps(evidence))


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
    if isinstance(evidence, dict):
        state, ranks = evidence.get("state"), evidence.get("ranks", [])
        stuck = state == "raised" and any(rank.get("state") == "waiting" for rank in ranks if isinstance(rank, dict))
        return state in STOPPING or stuck or any(stops(value) for value in evidence.values())
    return isinstance(evidence, list) and any(stops(value) for value in evidence if isinstance(value, dict))


def judge(check: Check, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
    """Give the verdict on the evidence gathered for `cases`. Each kind of finding costs once, at its dearest.

    Raises ValueError if evidence is missing: absent evidence must never count as a pass.
    """
    if len(gathered) != len(cases) and not (gathered and len(gathered) < len(cases) and stops(gathered[-1])):
        raise ValueError(f"{check.todo}: {len(cases)} cases, but evidence for {len(gathered)}")
    found: dict[str, Finding] = {}
    for case, evidence in zip(cases, gathered, strict=False):
        for finding in check.verdict(case, evidence):
            if finding.key not in found or finding.points > found[finding.key].points:
                found[finding.key] = finding
    findings = list(found.values())
    lost = math.fsum(finding.points for finding in findings)
    return Result(check.todo, check.points, max(0.0, check.points - lost), findings, seed)


def run(check: Check, world: Any, subject: Any, seed: int) -> Result:
    """Cases, probe and verdict at once: what a student's notebook does."""
    cases = draw_cases(check, seed)
    return judge(check, cases, gather(check, world, subject, cases), seed)


def trouble(outcome: dict, points: float) -> list[Finding]:
    """Findings for a run that did not come to its end on every rank; none if it did.

    outcome: what `course.world.Outcome.plain` gives. points: what the TODO is worth, all of which is lost.
    A check calls this first, and reads the results only where it returns nothing.
    """
    state, report = outcome["state"], outcome["report"]
    if state == "ok":
        return []
    message = MESSAGES[state].format(detail=outcome["detail"])
    if any((rank["error"] or {}).get("type") == "NameError" for rank in outcome["ranks"]):
        message += " " + ALONE
    return [Finding(state, message, points, "" if state in PLAIN else report)]
