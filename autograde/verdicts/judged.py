"""Schema and verdict of the checks in `autograde.contract.rank_check`: how the run ended, then what each call
showed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from autograde.contract.calls import calls_apart
from autograde.contract.check import Check
from autograde.contract.findings import Findings
from autograde.contract.gpu import ON_GPU
from autograde.contract.schema import array, described_value, outcome, record, string, tuple_of
from autograde.contract.trouble import trouble
from autograde.contract.verdict import Diagnosis, Finding, hiding
from autograde.verdicts.collectives import deadlock, group_sizes, left_running, unequal_sizes, wrong_group
from autograde.verdicts.numbers import finding as judging
from autograde.verdicts.on_gpu import device_mistakes
from course.watch.events import Event
from course.watch.log import LIMIT
from course.watch.notes import without_notes
from course.world.report import name_ranks

finding = Findings("""
argument-changed 1
After the call, `{which}` is not what it was before. Whoever called your function still needs it: work on a copy.

calls-beyond-the-record 0
{who} makes more than {limit} calls, and no more than these are recorded. So the rest is not counted, and what may be in
it costs you nothing. A TODO needs very few calls.
""")


# What communication by a way that is not recorded may refute.
UNSEEN = frozenset(
    {
        *("no-reduction", "unseen-communication", "idle-ranks"),
        *("same-on-every-rank", "not-own-part", "not-what-came-out", "result-dropped", "result-stays"),
    }
)
# What a call that was not recorded may refute. In a check's `missing` there are those of its own.
MISSING = UNSEEN | {"not-waited-for", "unequal-sizes", "not-the-sum", "message-not-received", "message-never-sent"}
# What a rank may have called, where nothing is known.
UNKNOWN = dict.fromkeys(Event.__annotations__) | {"library": "mpi4py", "op": "unknown", "kind": "other"}
UNKNOWN |= {"start": 0.0, "waited": 0.0, "end": 0.0, "failed": False, "state": "done"}
Found = list[Finding | Diagnosis]


def size_of(case: dict) -> int:
    """How many ranks a case runs on."""
    return len(case["ranks"]) if "ranks" in case else case.get("size", 1)


@dataclass(frozen=True)
class Call:
    """One call of the student's function, as all ranks made it.

    number: counted from 0. plan: of the case. shown: what the check's `call` gave, by rank. events: what each rank
    communicated in it, see `course.watch.events`. noted: the same, with the check's own notes among them.
    """

    number: int
    plan: dict
    shown: list[dict]
    events: list[list[dict]]
    noted: list[list[dict]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many ranks made it."""
        return len(self.shown)

    def of(self, name: str) -> list[Any]:
        """One of the things shown, by rank."""
        return [each[name] for each in self.shown]


@dataclass(frozen=True)
class Run:
    """How a run ended. state, detail, report, ranks: see `course.world.report.Outcome`. logs: by rank and call, as far
    as it came, with notes."""

    state: str
    detail: str
    report: str
    ranks: list[dict]
    logs: list[list[list[dict]]]

    @cached_property
    def events(self) -> list[list[list[dict]]]:
        """What was communicated, by rank and call, as far as it came."""
        return [[without_notes(log) for log in calls] for calls in self.logs]

    @property
    def full(self) -> list[int]:
        """The ranks that made more calls than are recorded."""
        return [rank["rank"] for rank in self.ranks if rank["full"]]

    @property
    def unseen(self) -> bool:
        """Whether ranks may have communicated by ways that are not recorded."""
        return any(rank["unseen"] for rank in self.ranks)

    def certain(self, found: Found, missing: Collection[str]) -> Found:
        """What is left of findings when those are not told that a call refutes which may be there all the same.
        missing: keys of these, where the record has an end."""
        keys = {*(UNSEEN if self.unseen else ()), *(missing if self.full else ())}
        return without(found, keys) if keys else found

    @property
    def known(self) -> int:
        """Number of the first call of which not all may be recorded."""
        return min((len(self.events[rank]) - 1 for rank in self.full), default=LIMIT)

    @property
    def beyond(self) -> list[Finding]:
        """That there are calls which are not recorded."""
        return [finding("calls-beyond-the-record", who=name_ranks(self.full), limit=LIMIT)] if self.full else []

    @property
    def reached(self) -> int:
        """Number of the call in which the last rank stands."""
        return min(map(len, self.events)) - 1

    def of_call(self, number: int) -> list[list[dict]]:
        """What each rank communicated in a call, which it may not have reached."""
        return [calls[number] if number < len(calls) else [] for calls in self.events]

    def noted(self, number: int) -> list[list[dict]]:
        """The same, with notes."""
        return [calls[number] if number < len(calls) else [] for calls in self.logs]


def run_of(evidence: dict) -> Run:
    """The run in some evidence."""
    logs = [calls_apart(rank["events"]) for rank in evidence["ranks"]]
    return Run(evidence["state"], evidence["detail"], evidence["report"], evidence["ranks"], logs)


class JudgedRun(Check):
    """For a RankCheck, which sets `shape` and `judge`, and perhaps `unfinished` and `missing`."""

    missing: Collection[str] = ()  # see MISSING

    def shape(self, case: dict) -> dict:
        """Schema of what `run` gives on a rank."""
        raise NotImplementedError

    def judge(self, case: dict, results: list[Any]) -> Iterable[Finding | Diagnosis]:
        """What is wrong with what `run` gave, by rank, where all ranks came to the end."""
        raise NotImplementedError

    def judge_run(self, case: dict, results: list[Any], events: list[list[dict]]) -> Iterable[Finding | Diagnosis]:
        """The same, where what the ranks communicated counts, too."""
        return self.judge(case, results)

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What a run that did not come to its end means, where that can be said; else `trouble` says it."""
        return ()

    def schema(self, case: dict) -> dict:
        """What became of the run, and what it gave on each rank."""
        return outcome(size_of(case), self.shape(case))

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """How the run ended; then what it gave."""
        if case.get(ON_GPU):
            return device_mistakes(evidence)
        run = run_of(evidence)
        if evidence["state"] != "ok":
            explained = [] if run.full else [*self.unfinished(case, run)]
            return [*(explained or trouble(evidence, self.points)), *run.beyond]
        events = [without_notes(rank["events"]) for rank in evidence["ranks"]]
        found = [*self.judge_run(case, [rank["result"] for rank in evidence["ranks"]], events)]
        return run.certain(found, MISSING.union(self.missing)) + run.beyond


class JudgedCalls(Check):
    """For a CallCheck, which sets `judge`, and perhaps `shape`, `empty`, `unfinished` and `missing`."""

    missing: Collection[str] = ()  # see MISSING

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Schemas of what `call` shows on a rank, by name: the value that was returned, if nothing else."""
        return {"value": described_value()}

    def judge(self, case: dict, call: Call) -> Iterable[Finding | Diagnosis]:
        """What is wrong with one call that every rank came back from."""
        raise NotImplementedError

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Ranks that in a call may have nothing of their own to do, which is easily forgotten."""
        return ()

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What a run that did not come to its end means, where that can be said; else `stopped` and `trouble` say
        it."""
        return ()

    def stopped(self, run: Run, empty: Collection[int]) -> list[Finding]:
        """What is known of a run that stopped in a call. empty: as of `empty`."""
        events, errors = run.of_call(run.reached), {rank["rank"]: rank["error"] for rank in run.ranks if rank["error"]}
        if run.state in ("raised", "hang", "rank-died") and (found := unequal_sizes(events, run.report)):
            return found
        if run.state == "raised" and errors and errors.keys() <= {*empty}:
            rank, error = min(errors.items())
            does = f"raises {error['type']}: {error['message'][:200]}"
            empty_rank = judging("empty-rank", run.report, who=name_ranks([rank]), does=does)
            return [hiding(empty_rank, *judging.some("own-part-only"))]  # nobody knows what would have come of it
        return deadlock(events, run.report) if run.state == "hang" else []

    def schema(self, case: dict) -> dict:
        """On each rank a record of each call."""
        calls = [record(shown=record(**self.shape(case, call)), changed=array(string())) for call in self.calls(case)]
        return outcome(size_of(case), record(calls=tuple_of(calls), tried=array(string())))

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """How the run ended; then each call by itself."""
        if case.get(ON_GPU):
            return device_mistakes(evidence)
        run, plans = run_of(evidence), self.calls(case)
        logs = [[event for call in calls for event in call] for calls in run.events]
        if found := wrong_group(len(logs), group_sizes(logs), run.report):
            return found
        if run.state != "ok":
            empty = self.empty(case, plans[min(run.reached, len(plans) - 1)])
            explained = [] if run.full else [*self.unfinished(case, run)] or self.stopped(run, empty)
            return [*(explained or trouble(evidence, self.points)), *run.beyond]
        results, found = [rank["result"] for rank in evidence["ranks"]], []
        for number, plan in enumerate(plans):
            made = [result["calls"][number] for result in results]
            names = sorted({name for each in made for name in each["changed"]})
            found += [finding("argument-changed", which=name) for name in names]
            shown = [each["shown"] for each in made]
            found += self.certain(case, Call(number, plan, shown, run.of_call(number), run.noted(number)), run)
        return found + left_running([result["tried"] for result in results]) + run.beyond

    def certain(self, case: dict, call: Call, run: Run) -> Found:
        """What is wrong with one call, whatever is not recorded."""
        found = run.certain([*self.judge(case, call)], ())
        if call.number < run.known:
            return found
        found = without(found, MISSING.union(self.missing))
        if call.number == run.known:
            return found
        strange = [[{**UNKNOWN}] for _ in call.events]
        unlike = [*self.judge(case, replace(call, events=strange, noted=strange))]
        return without(found, {each.key for each in counted(found)} - {each.key for each in counted(unlike)})


def counted(found: Found) -> list[Finding]:
    """The findings that are no diagnoses of numbers."""
    return [each for each in found if isinstance(each, Finding)]


def without(found: Found, keys: Collection[str]) -> Found:
    """What is left when the findings of these keys are not told."""
    return [each for each in found if isinstance(each, Diagnosis) or each.key not in keys]
