"""A criterion: what has to hold, its points, and how a mistake is named where it does not.

Points belong to criteria, words to mistakes. A criterion holds if it holds in every call that it looks at; then it
gives its points, and else none. A known mistake only chooses the words: it is told if it explains every failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from autograde.contract.call_probe import SENDS_WAIT
from autograde.contract.check import Demand
from autograde.contract.gpu import ON_GPU
from autograde.rubric.judge import Call, Judge, comparing, first_of
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong

words = Words("""
not-on-device: On a GPU your code stops with an error: {what}. All that an operation works on has to be on one device:
what has to be moved, and where to?
""")


@dataclass(frozen=True)
class Criterion:
    """One row of a rubric.

    name: small letters and hyphens; it stays when words change. points: what it gives. says: what has to hold, a
    sentence that `./lockstep build` writes into the TODO's docstring. judge: what is wrong with a call, or None; a
    function, or an object that may also say `gives(call, value)`: whether the call shows this value. mistakes: words
    for known mistakes. on: of a call's arguments, whether the criterion looks at it, see `given`; None: it looks at
    all. after: names of criteria of which a failure of this one may just be a consequence: if one of them fails as
    well, this one is not told apart. sends: which calls of those that `on` leaves it looks at: "kept", where MPI may
    keep a message until it is received; "wait", where each send waits for its receive; or "both".

    Raises ValueError for mistakes that give values, where the judge compares none.
    """

    name: str
    points: float
    says: str
    judge: Judge
    mistakes: Mistakes = field(default_factory=Mistakes)
    on: Callable[[dict], bool] | None = None
    after: tuple[str, ...] = ()
    sends: Literal["kept", "wait", "both"] = "kept"

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.mistakes.values and comparing(self.judge) is None:
            raise ValueError(f"criterion {self.name}: its mistakes give values, and its judge compares none")

    def looks_at(self, arguments: dict) -> bool:
        """Whether it looks at a call with these arguments."""
        sends = "wait" if arguments.get(SENDS_WAIT) else "kept"
        return self.sends in (sends, "both") and (self.on is None or self.on(arguments))

    def looks_at_some(self, cases: Iterable[dict]) -> bool:
        """Whether it looks at a call in one of these cases."""
        return any(self.looks_at(each) for case in cases if not case.get(ON_GPU) for each in case["calls"])

    def judged(self, runs: Iterable[Run]) -> Wrong | None:
        """What is wrong with the calls that came to their end; see `wrong`."""
        return self.wrong(calls_of(runs))

    def wrong(self, calls: Iterable[Call]) -> Wrong | None:
        """What is wrong, in the words of a mistake if one explains it all; None if nothing is that can be seen."""
        failures, held = [], []
        for call in filter(lambda each: self.looks_at(each.arguments), calls):
            wrong = self.failure(call)
            held.append(call) if wrong is None else failures.append((call, replace(wrong, call=call)))
        judge = comparing(self.judge)
        return self.mistakes.explaining(failures, held, judge) or failures[0][1] if failures else None

    def failure(self, call: Call) -> Wrong | None:
        """What is wrong with one call, as far as is recorded."""
        if self.of_record and call.record == "none":
            return None
        wrong = self.judge(call)
        return None if wrong is not None and wrong.absent and not call.whole else wrong

    def unrecorded(self, runs: Iterable[Run]) -> bool:
        """Whether nobody can say that it holds in each call, as it reads what is not recorded whole; or as a judge
        missed something there."""
        looked_at = (call for call in calls_of(runs) if not call.whole and self.looks_at(call.arguments))
        return any(self.of_record or self.judge(call) is not None for call in looked_at)

    @property
    def of_record(self) -> bool:
        """Whether it judges what ranks communicated."""
        return getattr(self.judge, "of_record", False)


def unbuffered(points: float, of: Criterion, *more: Criterion) -> Criterion:
    """The criterion that another one, or several, also hold where each send waits for its receive. points: what that
    gives. Raises ValueError where several of them compare values, as one judge of a criterion can."""
    if len(several := [each.name for each in (of, *more) if comparing(each.judge)]) > 1:
        raise ValueError(
            f"unbuffered: the criteria {' and '.join(several)} compare values, and in a row one judge can. Name one of "
            'them, and let the others look at all calls by `sends="both"`.'
        )
    says, judge = "it also works where each send waits for its receive", first_of(*(each.judge for each in (of, *more)))
    return Criterion("safe", points, says, judge, sends="wait", after=tuple(each.name for each in (of, *more)))


def calls_of(runs: Iterable[Run]) -> list[Call]:
    """The calls that came to their end, without that of a run on a GPU."""
    return [call for run in runs if not run.on_gpu for call in run.calls]


class OfNoCall:
    """Base of rows that no single call decides. They have what a `Criterion` has for a check."""

    after: tuple[str, ...] = ()

    def looks_at(self, arguments: dict) -> bool:
        """No call."""
        return False

    def looks_at_some(self, cases: Iterable[dict]) -> bool:
        """No case."""
        return False

    def judged(self, runs: Iterable[Run]) -> Wrong | None:
        """Nothing: no run shows it."""
        return None

    def unrecorded(self, runs: Iterable[Run]) -> bool:
        """No: it reads no record of calls."""
        return False


@dataclass(frozen=True)
class DeviceCriterion(OfNoCall):
    """The row on the run on a GPU, real or simulated, which is judged as a whole: nothing is on another device than it
    has to be."""

    points: float
    says: str
    name: str = "device"

    def looks_at_some(self, cases: Iterable[dict]) -> bool:
        """Whether one of these cases is that on a GPU."""
        return any(case.get(ON_GPU) for case in cases)

    def judged(self, runs: Iterable[Run]) -> Wrong | None:
        """The error that the run on a GPU stopped with, if it did."""
        found = [run.device_mistake for run in runs if run.on_gpu and run.device_mistake]
        return words("not-on-device", what=found[0][:500]) if found else None


@dataclass(frozen=True)
class RecordCriterion(OfNoCall, Demand):
    """The row on the record of a batch run, see `Demand`, which the grader judges when all other rows are, by
    `autograde.slurm.record_policy`.

    points: what it gives, if another row holds. says: what is asked for.
    """

    points: float
    says: str
    name: str = "record"
