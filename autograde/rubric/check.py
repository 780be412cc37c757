"""The check of a TODO as a rubric: calls of the student's function, and criteria on what they show.

::

    CHECK = CallCheck.of(
        "swap",
        swap.PROBE,
        lambda rng: [(4, {}), (3, {}), ([2, 0], {})],
        Criterion("partner", 2, "each rank returns its partner's array", partner_array),
        Criterion("argument", 1, "the array that you are given stays as it is", argument_unchanged),
        consolidation="Two that send first wait for each other.",
    )

The score is the sum of the criteria that hold. A run that breaks off, by an error or a deadlock, is told above them.
What could not be judged because of it gives no points: so a further mistake never gains any.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from autograde.cells.cell_code import ALONE
from autograde.contract.call_probe import CallProbe, Rerun
from autograde.contract.check import Check, remarks_on
from autograde.contract.evidence import json_schema
from autograde.contract.gpu import ON_GPU
from autograde.contract.result import LATER, Finding, Result, Row, cut
from autograde.contract.schema import array, integer, outcome, record, string, tuple_of
from autograde.contract.trouble import raised
from autograde.rubric.breaks import Errors, why_it_broke_off
from autograde.rubric.criterion import Criterion, DeviceCriterion, RecordCriterion
from autograde.rubric.drawn import completed, reserved
from autograde.rubric.inputs import seen_with
from autograde.rubric.judge import Call
from autograde.rubric.run import Run, size_of
from autograde.rubric.words import Words, Wrong
from course.watch.log import LIMIT

words = Words("""
calls-beyond-the-record: More than {limit} calls are made on a rank, and no more than these are recorded. What the rest
of them communicate nobody can judge, so the rows on that give no points. A TODO needs very few calls.

not-in-the-record: Your code communicates by calls that are not recorded. What they send nobody can judge, so the rows
on that give no points. Use the calls that the lab shows.
""")
BROKE_OFF = "the run broke off"
MAY_FOLLOW = "it may follow from"
JUDGED_LATER = "when the lab is graded; until then it counts"
NOTHING_ELSE = "no other row holds"  # so code that does nothing earns nothing
UNRECORDED = "what the ranks communicated is not recorded as a whole"
AnyCriterion = Criterion | DeviceCriterion | RecordCriterion
Rows = Sequence[AnyCriterion]


class CallCheck(Check):
    """Base class; `of` makes a check without a class of its own. See there for what a subclass sets."""

    probe: ClassVar[CallProbe]
    criteria: Rows = ()
    repeats = True
    inputs: tuple[str, ...] = ()
    errors = Errors()

    @classmethod
    def of(
        cls,
        todo: str,
        probe: CallProbe,
        cases: Callable[[random.Random], Sequence],
        *criteria: AnyCriterion,
        consolidation: str = "",
        inputs: tuple[str, ...] = (),
        repeats: bool = True,
        errors: Errors | None = None,
        broke_off: Callable[[Run], Wrong | None] | None = None,
        gpu_case: Callable[[random.Random], dict] | None = None,
        fits: Callable[[dict, dict, Any], bool] | None = None,
        again: Callable[[dict, int], dict | None] | None = None,
    ) -> Self:
        """The check of a TODO.

        todo: as its file is called. cases: of a random generator, the cases, see `autograde.rubric.drawn`. criteria:
        their points together are the TODO's. consolidation: see `Check`. inputs: names of a call's arguments that a
        student is told, with which a mistake was seen. repeats: whether the first call of a case is made once more in
        the end, with another ``seed``, so that what is kept between calls shows; False where the calls of a case show
        that as they are. errors: what errors of this TODO mean. broke_off: of a run that did not come to its end, what
        that means for this TODO. gpu_case: see `Check`. fits: of a case, a call's arguments and the evidence on it,
        whether that has the lengths that follow from the call. again: of a TODO with a `RecordCriterion`, see `Check`.
        """
        body: dict[str, Any] = {"todo": todo, "probe": probe, "criteria": criteria, "consolidation": consolidation}
        body |= {"inputs": inputs, "repeats": repeats, "errors": errors or Errors()}
        body["batch"] = next((each for each in criteria if isinstance(each, RecordCriterion)), None)
        functions = {"cases": cases, "broke_off": broke_off, "gpu_case": gpu_case, "fits": fits, "again": again}
        body |= {name: staticmethod(each) for name, each in functions.items() if each is not None}
        return type(todo, (cls,), body)()

    @property
    def points(self) -> float:
        """What the TODO is worth."""
        return sum(criterion.points for criterion in self.criteria)

    def drawn_cases(self, seed: int) -> list[dict]:
        """See `Check.drawn_cases`; completed, see `autograde.rubric.drawn`. Raises ValueError for an argument whose
        name words use for something else, and for a criterion that looks at no call."""
        rng = random.Random(f"{seed}:{self.todo}:once more")
        drawn = completed(super().drawn_cases(seed), random.Random(f"{seed}:{self.todo}:completed"))
        cases = [case if case.get(ON_GPU) else self.with_repeat(case, rng) for case in drawn]
        calls = [call for case in cases if not case.get(ON_GPU) for call in case["calls"]]
        if names := reserved(calls):
            raise ValueError(f"{self.todo}: an argument of a call cannot be called {', '.join(names)}")
        for each in self.criteria:
            if each is not self.batch and not each.looks_at_some(cases):
                raise ValueError(f"{self.todo}: no call is drawn at which the criterion {each.name!r} looks")
        return cases

    def with_repeat(self, case: dict, rng: random.Random) -> dict:
        """The case with its first call made once more, if the check repeats it and it has a seed."""
        first = case["calls"][0]
        more = [{**first, "seed": rng.getrandbits(32)}] if self.repeats and "seed" in first else []
        return {**case, "calls": [*case["calls"], *more]}

    def fits(self, case: dict, arguments: dict, seen: Any) -> bool:
        """Whether evidence on a call has the lengths that follow from the call; what has not is never judged."""
        return True

    def broke_off(self, run: Run) -> Wrong | None:
        """What a run that did not come to its end means for this TODO; None: what `breaks` says of any."""
        return None

    def schema(self, case: dict) -> dict:
        """See `Check.schema`; made from the probe's class of evidence."""
        if "again" in case:
            rerun, definitions = json_schema(Rerun)
            return {**outcome(size_of(case), rerun), "$defs": definitions}
        seen, definitions = json_schema(self.probe.seen)
        call = record(seen=seen, changed=array(string()), tried=array(string()))
        result = record(calls=tuple_of([call] * len(case["calls"])), overwritten=array(integer(0)))
        return {**outcome(size_of(case), result), "$defs": definitions}

    def grade(self, cases: list[dict], gathered: list[Any], seed: int | None = None) -> Result:
        """See `Check.grade`: one row for each criterion. Raises ValueError for evidence that does not fit."""
        runs = [Run(case, outcome, self.probe.seen) for case, outcome in zip(cases, gathered, strict=False)]
        if plain := next((run for run in runs if run.plain and not run.on_gpu), None):
            found = raised(plain.outcome["detail"], state=plain.state)
            return self.without_evidence(found.key, cut(found.message), seed, remarks_on(gathered))
        for call in (call for run in runs for call in run.calls):
            if not all(self.fits(call.case, call.arguments, each) for each in call.seen):
                raise ValueError(f"{self.todo}: the evidence does not fit its call")
        broken = [run for run in runs if run.state != "ok" and not run.on_gpu]
        breaks = self.breaks(broken)
        rows = self.rows(runs, broken, cases[len(runs) :], breaks)
        findings = [*map(self.finding, breaks), *(row.finding for row in rows if row.finding is not None)]
        if any(row.reason == UNRECORDED for row in rows):
            key = "calls-beyond-the-record" if any(run.full for run in runs) else "not-in-the-record"
            findings.append(self.finding(words(key, limit=LIMIT)))
        remarks = remarks_on(gathered)
        score = sum(row.score for row in rows)
        learnt = self.consolidation if score == self.points else ""
        return Result(self.todo, self.points, score, findings, rows, seed, learnt, remarks)

    def without_evidence(
        self, key: str, message: str, seed: int | None = None, remarks: list[str] | None = None
    ) -> Result:
        """See `Check.without_evidence`: no criterion is judged."""
        rows = [Row(each.name, each.says, each.points, "unjudged") for each in self.criteria]
        return Result(self.todo, self.points, 0.0, [Finding(key, message)], rows, seed, "", remarks or [])

    def breaks(self, broken: list[Run]) -> list[Wrong]:
        """Why runs broke off, each kind once. Of errors that the same criterion is the first to meet, the first is
        told: the next may be the same one, where it looks like another mistake."""
        told: dict[str, Wrong] = {}
        places: set[str] = set()
        for run in broken:
            place = self.meets_first(run)
            if run.state != "raised" or place not in places:
                wrong = self.broke_off(run) or self.errors(run) or why_it_broke_off(run)
                call = None if ALONE in wrong.message else Call(run.case, run.reached, run.broken, [])
                told.setdefault(wrong.key, replace(wrong, call=call))
            places.add(place)
        return [*told.values()]

    def rows(self, runs: list[Run], broken: list[Run], not_run: list[dict], breaks: list[Wrong]) -> list[Row]:
        """The rubric. broken: the runs that broke off; breaks: what is told of them. not_run: cases that were not tried
        any more."""
        pending = [*(run.case for run in broken), *not_run]
        met, rows, told = {*map(self.meets_first, broken)}, [], []
        for criterion in self.criteria:
            wrong, reason = criterion.judged(runs), ""
            same = [each for each, other in zip(rows, told, strict=True) if says_same(other, wrong)]
            if wrong is not None and (causes := failed(rows, criterion.after) or same):
                wrong, reason = None, f"{MAY_FOLLOW}: {causes[0].says}"
            elif wrong is not None and any(each.key == wrong.key for each in breaks):
                wrong, reason = None, BROKE_OFF
            elif wrong is None and (criterion.name in met or criterion.looks_at_some(pending)):
                reason = BROKE_OFF
            elif wrong is None and criterion.unrecorded(runs):
                reason = UNRECORDED
            told.append(wrong)
            rows.append(self.row(criterion, wrong, reason))
        of_calls = [isinstance(each, Criterion) for each in self.criteria]
        if any(row.state == "holds" for row, own in zip(rows, of_calls, strict=True) if own):
            return rows
        return [row if own else nothing_else(row) for row, own in zip(rows, of_calls, strict=True)]

    def row(self, criterion: AnyCriterion, wrong: Wrong | None, reason: str) -> Row:
        """The row of a criterion. wrong: why it fails; reason: why it is not judged; it holds if there is neither."""
        about = (criterion.name, criterion.says, criterion.points)
        if criterion is self.batch:
            return Row(*about, LATER, None, JUDGED_LATER)
        if wrong is not None:
            return Row(*about, "fails", self.finding(wrong))
        return Row(*about, "unjudged", None, reason) if reason else Row(*about, "holds")

    def finding(self, wrong: Wrong) -> Finding:
        """What is wrong, with the input of the call in which it was seen."""
        message = wrong.message
        if wrong.call is not None:
            case = wrong.call.case
            size = size_of(case) if {"size", "ranks"} & {*case} else None
            message = seen_with(message, wrong.call.arguments, self.inputs, size)
        return Finding(wrong.key, cut(message), cut(wrong.report))

    def meets_first(self, run: Run) -> str:
        """Name of the first criterion that looks at the call in which a run broke off; of the first of all if none
        does."""
        looking = [each for each in self.criteria if each.looks_at(run.broken)]
        return (looking or self.criteria)[0].name


def nothing_else(row: Row) -> Row:
    """A row on a GPU or on a record where no call shows that anything is right: it does not hold."""
    return row if row.state == "fails" else replace(row, state="unjudged", reason=row.reason or NOTHING_ELSE)


def failed(rows: list[Row], names: tuple[str, ...]) -> list[Row]:
    """The rows of these criteria that fail, or would but for others of which they may be a consequence."""
    named = [each for each in rows if each.name in names]
    return [each for each in named if each.state == "fails" or each.reason.startswith(MAY_FOLLOW)]


def says_same(one: Wrong | None, other: Wrong | None) -> bool:
    """Whether two mistakes have the same words."""
    return None not in (one, other) and (one.key, one.message) == (other.key, other.message)
