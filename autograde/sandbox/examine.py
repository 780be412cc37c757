"""Gathers evidence on one submission in a sandbox, and gives the verdicts on it.

The trusted side draws the cases and judges. In between, `autograde.sandbox.prober` runs the student's code in a
sandbox, one case at a time. Time is limited for each TODO, for all TODOs in one sandbox, and for the submission. If one
TODO ends its sandbox, the next gets a new one, and is judged as if nothing had happened.

`gather` and `verdicts` may run on different machines: only plain data passes between them.

There are two kinds of failure. If a sandbox ends while a TODO runs, and does so again, that TODO's code is to blame. If
a sandbox does not start, or a probe or a verdict raises, the fault is ours, and a person must grade the TODO.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, field, replace

from autograde.contract.check import Check, draw_cases, judge
from autograde.contract.result import Result
from autograde.contract.trouble import PLAIN, RESOURCES, stops
from autograde.labs.folder import LoadedLab
from autograde.sandbox.pool import Cancelled, Ended, NoSandbox, Sandbox, Sandboxes, TooLate
from autograde.sandbox.resources.limits import EXCEEDED, Limits
from autograde.sandbox.resources.out_of_memory import was_killed, why_ungraded
from autograde.sandbox.untrusted import problem
from course.processes.surroundings import machine

ATTEMPTS = 2  # at each TODO, if a sandbox fails

# Findings that cost all points of a TODO, without evidence: message by key.
LOST = {
    "not-done": "Its cell is as it was released.",
    "too-slow": "Not finished in time: the checks of this TODO were still running.",
    **EXCEEDED,
}


@dataclass(frozen=True)
class Gathered:
    """What was gathered for a TODO: `evidence`, `lost` or `reason`.

    evidence: for each case, in order. lost: why there is none, a key of `LOST`. reason: why a person must grade it.
    again: evidence from repeating a recorded run, if it was repeated. cases: that the evidence is on.
    """

    todo: str
    evidence: list | None = None
    lost: str | None = None
    reason: str | None = None
    again: dict | None = None
    cases: list[dict] | None = None


@dataclass(frozen=True)
class Marked:
    """The mark for a TODO: a result, or the reason why a person must grade it.

    again: evidence from repeating a recorded run, see `autograde.slurm.record_policy`.
    """

    todo: str
    points: float
    result: Result | None
    reason: str | None = None
    again: dict | None = None

    @property
    def score(self) -> float | None:
        """The points; None if they are not known."""
        return self.result.score if self.result else None

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Marked:
        """The inverse of `plain`."""
        return cls(**{**data, "result": Result.from_plain(data["result"]) if data["result"] else None})


@dataclass(frozen=True)
class Answers:
    """The part of a submission that is examined.

    sources: each TODO's cell, by TODO. blank: TODOs left as released; they are not run. again: by TODO, the case that
    repeats a recorded run.
    """

    sources: dict[str, str]
    blank: frozenset[str]
    again: dict[str, dict] = field(default_factory=dict)


@dataclass(frozen=True)
class Examined:
    """The marks of one submission. seed: of its cases. seconds: "total", and "probing", while its code ran."""

    marked: list[Marked]
    seed: int
    seconds: dict[str, float]


class Unjudged(Exception):
    """A TODO could not be judged, through no fault of the student."""


class Unfit(Unjudged):
    """Evidence that does not fit its schema, so no verdict sees it."""


def examine(lab: LoadedLab, answers: Answers, seed: int, sandboxes: Sandboxes) -> Examined:
    """Grade one submission. One Marked for each check of the lab, in order. Raises what `gather` raises."""
    gathered, seconds = gather(lab, answers, seed, sandboxes)
    return Examined(verdicts(lab, gathered, seed), seed, seconds)


def gather(
    lab: LoadedLab, answers: Answers, seed: int, sandboxes: Sandboxes
) -> tuple[list[Gathered], dict[str, float]]:
    """Run the probes on one submission. Returns what each check of the lab gathered, in order, and `Examined.seconds`.

    Raises Cancelled if the grading was stopped.
    """
    began = time.monotonic()
    with Examination(sandboxes, seed) as examination:
        gathered = []
        for check in lab.todo_checks:
            one = examination.gather(check, None if check.todo in answers.blank else answers.sources[check.todo])
            if check.todo in answers.again and one.evidence is not None:
                again = examination.once_more(check, answers.sources, answers.again[check.todo])
                one = replace(one, again=again)
            gathered.append(one)
    return gathered, {"total": time.monotonic() - began, "probing": examination.probing}


def verdicts(lab: LoadedLab, gathered: list[Gathered], seed: int) -> list[Marked]:
    """The mark for each TODO, from what was gathered with this seed. Raises nothing for what was gathered, which may be
    forged."""
    return [marked(check, one, seed) for check, one in zip(lab.todo_checks, gathered, strict=True)]


def marked(check: Check, gathered: Gathered, seed: int) -> Marked:
    """The mark for one TODO."""
    todo, points = check.todo, check.points
    if gathered.reason is not None:
        return Marked(todo, points, None, gathered.reason)
    if gathered.lost is not None:
        return Marked(todo, points, check.without_evidence(gathered.lost, LOST[gathered.lost], seed))
    try:
        result = judge(check, gathered.cases, gathered.evidence, seed)
        return Marked(todo, points, result, again=gathered.again)
    except Exception as error:
        reason = f"the verdict could not read the evidence: {type(error).__name__}: {error}"
        return Marked(todo, points, None, reason)


class Examination:
    """The examination of one submission. It has at most one sandbox at a time, taken when it is first needed."""

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

    def gather(self, check: Check, source: str | None, cases: list[dict] | None = None) -> Gathered:
        """Gather evidence on the TODO of `check`. source: of its cell; None if left blank. cases: if not all of the
        check's. Raises only Cancelled."""
        todo = check.todo
        if source is None:
            return Gathered(todo, lost="not-done")
        try:
            cases = draw_cases(check, self.seed) if cases is None else cases
            evidence = self._evidence(check, source, cases)
            if may_have_reached_limit(evidence):
                self._drop()  # a full disk would still be full for the next TODO
            return Gathered(todo, evidence, cases=cases)
        except TooLate:
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
        """The evidence from repeating a recorded run; None if that fails, which costs no points. Raises Cancelled."""
        try:
            return self._attempt(check, sources[check.todo], [case], sources)[0]
        except (TooLate, Ended, NoSandbox, Unjudged):
            self._drop()
            return None

    def _evidence(self, check: Check, source: str, cases: list[dict]) -> list:
        """The evidence for these cases, in up to ATTEMPTS attempts. Raises TooLate, Unjudged, Ended with a finding."""
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1
            alone = self._sandbox is None  # if not, an earlier TODO may have caused the failure
            try:
                return self._attempt(check, source, cases)
            except TooLate:
                self._drop()
                if alone or last:
                    raise
            except Ended as error:
                self._drop()
                if error.finding and (alone or last):
                    raise
                if last:
                    raise Ended(str(error), "sandbox-ended") from error
            except (NoSandbox, Unjudged) as error:
                self._drop()
                if last:
                    raise Unjudged(str(error)) from error
        raise AssertionError("ATTEMPTS is at least 1")

    def _attempt(self, check: Check, source: str, cases: list[dict], notebook: dict[str, str] | None = None) -> list:
        """Ask for each case in turn. Stops where `stops` says that the next would only repeat it."""
        sandbox = self._ready_sandbox()
        memory = machine.out_of_memory()
        now = time.monotonic()
        self._end = self._end or now + self.limits.submission
        if now > self._end:
            raise Unjudged(f"time was up before it could be run: {self.limits.submission:g} s for the submission")
        deadline = sandbox.begin(min(self.limits.todo, self._end - now))
        gathered = []
        for case in cases:
            began = time.monotonic()
            try:
                question = {"todo": check.todo, "source": source, "case": case, "notebook": notebook or {}}
                reply = sandbox.ask(question, deadline)
                gathered.append(self._read(check, case, reply))
            except (Ended, TooLate) as error:
                if not getattr(error, "finding", None) and (why := why_ungraded(memory, self.limits)):
                    raise Unjudged(why) from error
                raise
            finally:
                self.probing += time.monotonic() - began
            if was_killed(gathered[-1]) and (why := why_ungraded(memory, self.limits)):
                raise Unjudged(why)
            if stops(gathered[-1]):
                if gathered[-1].get("state") not in PLAIN:  # a deadlock, a dead rank: start the next TODO afresh
                    self._drop()
                break
        return gathered

    def _read(self, check: Check, case: dict, reply: dict) -> object:
        """The evidence in a reply. Raises Ended or Unjudged if it holds none that can be judged."""
        match reply:
            case {"evidence": evidence}:
                hold_to_schema(check, case, evidence)
                return evidence
            case {"broken": str(reason)}:
                raise Ended(reason)
            case {"failed": str(reason)}:
                raise Unjudged(f"the probe failed: {reason[:2000]}")
        raise Ended("the process that runs the checks sent a message that is not foreseen")

    def _ready_sandbox(self) -> Sandbox:
        """This examination's sandbox, ready: a new one if there is none, or too little time left in it for a TODO."""
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


def hold_to_schema(check: Check, case: dict, evidence: object) -> None:
    """Raise Unfit if evidence on this case cannot look like this."""
    if wrong := problem(check.schema(case), evidence):
        raise Unfit(f"the evidence for `{check.todo}` is not of its form: {wrong}")


def may_have_reached_limit(evidence: list) -> bool:
    """Whether the evidence may show that a limit was reached. If it is wrong, that costs no more than a new sandbox."""
    text = json.dumps(evidence)
    return "too-much-output" in text or any(re.search(pattern, text) for _, pattern, _ in RESOURCES)
