"""Evidence on one submission, gathered in a sandbox, and the verdicts on it.

The trusted side draws the cases and judges. Between the two, `autograde.prober` runs the student's code, one case at a
time, in a sandbox. Time is limited for each TODO, for all TODOs in one sandbox, and for the submission. What ends a
TODO is its own affair: the next one is judged on its own merits, in a fresh sandbox where the old one is gone.

Two kinds of failure are told apart. A sandbox that ends while a TODO runs, and does so again, is ended by that TODO's
code. A sandbox that does not start is our failure, and so is a probe or a verdict that raises: the TODO then waits for
a person.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field

from autograde.check import PLAIN, Check, Finding, Result, draw_cases, judge, stops
from autograde.labs import Lab, load_checks
from autograde.limits import BEYOND, Limits
from autograde.sandboxes import Cancelled, Ended, Late, OurSide, Sandbox, Sandboxes
from autograde.schema import problem

ATTEMPTS = 2  # how often a TODO is tried where a sandbox fails


@dataclass(frozen=True)
class Marked:
    """What a TODO of a submission gets: a result, or the reason why a person has to grade it."""

    todo: str
    points: float
    result: Result | None
    reason: str | None = None

    @property
    def score(self) -> float | None:
        """Points, or None where they are not known."""
        return self.result.score if self.result else None

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Marked:
        """The inverse of `plain`."""
        return cls(**{**data, "result": Result.from_plain(data["result"]) if data["result"] else None})


@dataclass
class Examined:
    """Everything found out about one submission. seconds: "total", and "probing", in which its code ran."""

    marked: list[Marked] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class Unjudged(Exception):
    """A TODO could not be judged, by no fault of the student's."""


def examine(
    lab: Lab, sources: dict[str, str], blank: frozenset[str] | set[str], seed: int, sandboxes: Sandboxes
) -> Examined:
    """Grade one submission: cases here, probes apart, verdicts here. One Marked per check of the lab, in order.

    sources: source text of each TODO's cell. blank: TODOs that were left as released; they are not run.
    Raises LabError if the lab's checks do not load, Cancelled if the grading was stopped.
    """
    began = time.monotonic()
    with Examination(sandboxes, seed) as examination:
        marked = [
            examination.mark(check, None if check.todo in blank else sources[check.todo])
            for check in load_checks(lab.checks)
        ]
    return Examined(marked, {"total": time.monotonic() - began, "probing": examination.probing})


class Examination:
    """One submission under examination. It has at most one sandbox at a time, taken when it is first needed."""

    def __init__(self, sandboxes: Sandboxes, seed: int) -> None:
        self.sandboxes = sandboxes
        self.limits: Limits = sandboxes.limits
        self.seed = seed
        self.probing = 0.0
        self._sandbox: Sandbox | None = None
        self._end: float | None = None

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *error: object) -> None:
        self._drop()

    def mark(self, check: Check, source: str | None) -> Marked:
        """What the TODO of `check` gets for this source text; None: it was left blank. Whatever happens, never raises
        but Cancelled."""
        todo, points = check.todo, check.points
        if source is None:
            return self._lost(check, "not-done", "This TODO is not done yet: its cell is as it was released.")
        try:
            cases = draw_cases(check, self.seed)
            result = judge(check, cases, self._evidence(check, source, cases), self.seed)
            if any(finding.key.endswith("-limit") for finding in result.findings):
                self._drop()  # a disk that is full would be so for the next TODO, too
            return Marked(todo, points, result)
        except Late:
            return self._lost(check, "too-slow", "Not finished in time: the checks of this TODO were still running.")
        except Ended as error:
            return self._lost(check, error.finding, BEYOND[error.finding])
        except Unjudged as error:
            return Marked(todo, points, None, str(error))
        except Cancelled:
            raise
        except Exception as error:
            reason = f"the verdict could not read the evidence: {type(error).__name__}: {error}"
            return Marked(todo, points, None, reason)

    def _lost(self, check: Check, key: str, message: str) -> Marked:
        """All points of a TODO lost, for one reason."""
        finding = Finding(key, message, check.points)
        return Marked(check.todo, check.points, Result(check.todo, check.points, 0.0, [finding], self.seed))

    def _evidence(self, check: Check, source: str, cases: list[dict]) -> list:
        """The evidence for these cases, by a second attempt if need be. Raises Late, Unjudged, Ended with a finding."""
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1
            alone = self._sandbox is None  # else what an earlier TODO left there may be the cause of what happens
            try:
                return self._attempt(check, source, cases)
            except Late:
                self._drop()
                if alone or last:
                    raise
            except Ended as error:
                self._drop()
                if error.finding and (alone or last):
                    raise
                if last:
                    raise Ended(str(error), "sandbox-ended") from error
            except (OurSide, Unjudged) as error:
                self._drop()
                if last:
                    raise Unjudged(str(error)) from error
        raise AssertionError("ATTEMPTS is at least 1")

    def _attempt(self, check: Check, source: str, cases: list[dict]) -> list:
        """Ask for one case after the other, up to one that the next would only repeat."""
        sandbox = self._ready_sandbox()
        now = time.monotonic()
        self._end = self._end or now + self.limits.submission
        if now > self._end:
            raise Unjudged(f"time was up before it could be run: {self.limits.submission:g} s for the submission")
        end = min(now + self.limits.todo, self._end)
        gathered = []
        for case in cases:
            asked = time.monotonic()
            try:
                reply = sandbox.ask({"todo": check.todo, "source": source, "case": case}, end)
            finally:
                self.probing += time.monotonic() - asked
            gathered.append(self._read(check, case, reply))
            if stops(gathered[-1]):
                if gathered[-1].get("state") not in PLAIN:  # a deadlock, a dead rank: the next TODO starts from nothing
                    self._drop()
                break
        return gathered

    def _read(self, check: Check, case: dict, reply: dict) -> object:
        """The evidence in a reply. Raises Ended or Unjudged where there is none that can be judged."""
        match reply:
            case {"evidence": evidence}:
                if wrong := problem(check.schema(case), evidence):
                    raise Unjudged(f"the evidence is not of the form that it must have: {wrong}")
                return evidence
            case {"broken": str(reason)}:
                raise Ended(reason)
            case {"failed": str(reason)}:
                raise Unjudged(f"the probe failed: {reason[:2000]}")
        raise Ended("the process that runs the checks sent a message that is not foreseen")

    def _ready_sandbox(self) -> Sandbox:
        """This examination's sandbox, ready; a fresh one if there is none, or too little time left in it for a TODO."""
        if self._sandbox and time.monotonic() + self.limits.todo > self._sandbox.began + self.limits.notebook:
            self._drop()
        if self._sandbox is None:
            self._sandbox = self.sandboxes.take()
        self._sandbox.wait_until_ready()
        return self._sandbox

    def _drop(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
