"""Evidence on one submission, gathered in a sandbox, and the verdicts on it.

The trusted side draws the cases and judges. Between the two, `autograde.prober` runs the student's code, one case at a
time, in a sandbox. Time is limited for each TODO, for all TODOs in one sandbox, and for the submission. What ends a
TODO is its own affair: the next one is judged on its own merits, in a fresh sandbox where the old one is gone.

`gather` may run on another machine than `verdicts`: what is between them is plain data.

Two kinds of failure are told apart. A sandbox that ends while a TODO runs, and does so again, is ended by that TODO's
code. A sandbox that does not start is our failure, and so is a probe or a verdict that raises: the TODO then waits for
a person.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, field, replace

from autograde.check import PLAIN, RESOURCES, Check, Finding, Result, draw_cases, judge, stops
from autograde.labs import Lab, load_checks
from autograde.limits import BEYOND, Limits
from autograde.sandboxes import Cancelled, Ended, Late, OurSide, Sandbox, Sandboxes
from autograde.schema import problem

ATTEMPTS = 2  # how often a TODO is tried where a sandbox fails

# What costs a TODO all its points, whatever evidence there is: the finding's key, and its message.
LOST = {
    "not-done": "This TODO is not done yet: its cell is as it was released.",
    "too-slow": "Not finished in time: the checks of this TODO were still running.",
    **BEYOND,
}


@dataclass(frozen=True)
class Gathered:
    """What came back for a TODO; `evidence`, `lost` or `reason`.

    evidence: for its cases, in order. lost: why there is none, a key of `LOST`. reason: why a person has to grade it.
    again: evidence on the run that repeats one on record, if there is any.
    """

    todo: str
    evidence: list | None = None
    lost: str | None = None
    reason: str | None = None
    again: dict | None = None


@dataclass(frozen=True)
class Marked:
    """What a TODO of a submission gets: a result, or the reason why a person has to grade it.

    again: evidence on the run that repeats one on record, see `autograde.batch_records`.
    """

    todo: str
    points: float
    result: Result | None
    reason: str | None = None
    again: dict | None = None

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
    lab: Lab,
    sources: dict[str, str],
    blank: frozenset[str] | set[str],
    seed: int,
    sandboxes: Sandboxes,
    again: dict[str, dict] | None = None,
) -> Examined:
    """Grade one submission: cases here, probes apart, verdicts here. One Marked per check of the lab, in order.

    For arguments and errors see `gather`.
    """
    gathered, seconds = gather(lab, sources, blank, seed, sandboxes, again)
    return Examined(verdicts(lab, gathered, seed), seconds)


def gather(
    lab: Lab,
    sources: dict[str, str],
    blank: frozenset[str] | set[str],
    seed: int,
    sandboxes: Sandboxes,
    again: dict[str, dict] | None = None,
) -> tuple[list[Gathered], dict[str, float]]:
    """Run the probes on one submission. Returns what came back for each check of the lab, in order, and `seconds`.

    sources: source text of each TODO's cell. blank: TODOs that were left as released; they are not run. again: by TODO,
    the case that repeats a run on record.
    Raises LabError if the lab's checks do not load, Cancelled if the grading was stopped.
    """
    began = time.monotonic()
    with Examination(sandboxes, seed) as examination:
        gathered = []
        for check in load_checks(lab.checks):
            one = examination.gather(check, None if check.todo in blank else sources[check.todo])
            if again and check.todo in again and one.evidence is not None:
                one = replace(one, again=examination.once_more(check, sources, again[check.todo]))
            gathered.append(one)
    return gathered, {"total": time.monotonic() - began, "probing": examination.probing}


def verdicts(lab: Lab, gathered: list[Gathered], seed: int) -> list[Marked]:
    """What each TODO of a submission gets for what was gathered with this seed, which may be a lie. Never raises for
    that; raises LabError if the lab's checks do not load."""
    return [marked(check, one, seed) for check, one in zip(load_checks(lab.checks), gathered, strict=True)]


def marked(check: Check, gathered: Gathered, seed: int) -> Marked:
    """What one TODO gets."""
    todo, points = check.todo, check.points
    if gathered.reason is not None:
        return Marked(todo, points, None, gathered.reason)
    if gathered.lost is not None:
        finding = Finding(gathered.lost, LOST[gathered.lost], points)
        return Marked(todo, points, Result(todo, points, 0.0, [finding], seed))
    try:
        result = judge(check, draw_cases(check, seed), gathered.evidence, seed)
        return Marked(todo, points, result, again=gathered.again)
    except Exception as error:
        reason = f"the verdict could not read the evidence: {type(error).__name__}: {error}"
        return Marked(todo, points, None, reason)


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

    def gather(self, check: Check, source: str | None) -> Gathered:
        """What comes back for the TODO of `check` with this source text; None: it was left blank. Never raises but
        Cancelled."""
        todo = check.todo
        if source is None:
            return Gathered(todo, lost="not-done")
        try:
            evidence = self._evidence(check, source, draw_cases(check, self.seed))
            if met_a_limit(evidence):
                self._drop()  # a disk that is full would be so for the next TODO, too
            return Gathered(todo, evidence)
        except Late:
            return Gathered(todo, lost="too-slow")
        except Ended as error:
            return Gathered(todo, lost=error.finding)
        except Unjudged as error:
            return Gathered(todo, reason=str(error))
        except Cancelled:
            raise
        except Exception as error:
            return Gathered(todo, reason=f"the probe could not be asked: {type(error).__name__}: {error}")

    def once_more(self, check: Check, sources: dict[str, str], case: dict) -> dict | None:
        """The evidence on the run that repeats one on record; None where that does not end well. Raises Cancelled.

        What comes of it costs the TODO nothing.
        """
        try:
            return self._attempt(check, sources[check.todo], [case], sources)[0]
        except (Late, Ended, OurSide, Unjudged):
            self._drop()
            return None

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

    def _attempt(self, check: Check, source: str, cases: list[dict], notebook: dict[str, str] | None = None) -> list:
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
                reply = sandbox.ask(
                    {"todo": check.todo, "source": source, "case": case, "notebook": notebook or {}}, end
                )
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


def met_a_limit(evidence: list) -> bool:
    """Whether an error in the evidence may mean that a limit was met. No verdict: at worst it costs a sandbox."""
    text = json.dumps(evidence)
    return "too-much-output" in text or any(re.search(known_by, text) for _, known_by, _ in RESOURCES)
