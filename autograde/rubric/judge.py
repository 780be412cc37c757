"""What judges a call, and how judges are put together."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ClassVar

from autograde.contract.call_probe import SENDS_WAIT
from autograde.rubric.words import Wrong
from course.watch.notes import note_of


@dataclass(frozen=True)
class Call:
    """One call of the student's function, as all ranks made it.

    case: the case that it belongs to. number: of the call in it, from 0. arguments: of the call, as the case has them.
    seen: the probe's evidence, by rank. events: what each rank communicated, see `course.watch.events`; notes: the
    same, with the probe's notes among them. changed: names of arguments that are not what they were, by rank. tried:
    calls that would start or end a library, by rank. overwritten: ranks whose result was changed by a later call.
    record: how much of what was communicated is recorded: "all", "partly", or "none" where there was too much of it.
    unseen: whether ranks may have communicated by ways that are not recorded. made: what was made of it, see `once`.
    """

    case: dict
    number: int
    arguments: dict
    seen: list[Any]
    events: list[list[dict]] = field(default_factory=list)
    notes: list[list[dict]] = field(default_factory=list)
    changed: list[list[str]] = field(default_factory=list)
    tried: list[list[str]] = field(default_factory=list)
    overwritten: list[int] = field(default_factory=list)
    record: str = "all"
    unseen: bool = False
    made: dict[Callable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """How many ranks made it."""
        return len(self.seen)

    @property
    def whole(self) -> bool:
        """Whether all that the ranks communicated is recorded."""
        return self.record == "all" and not self.unseen

    @property
    def sends_wait(self) -> bool:
        """Whether each send waited for its receive."""
        return bool(self.arguments.get(SENDS_WAIT))

    def before_note(self, rank: int, note: str) -> list[dict]:
        """What a rank communicated that was complete when it first made this note, see `course.watch.notes`."""
        moment = next((event["start"] for event in self.notes[rank] if note_of(event) == note), 0.0)
        return [event for event in self.events[rank] if event["end"] is not None and event["end"] <= moment]

    def of(self, name: str) -> list[Any]:
        """One field of the evidence, by rank."""
        return [getattr(each, name) for each in self.seen]


Judge = Callable[[Call], Wrong | None]


def once(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """A function of a `Call` that is worked out once for each, as several criteria and mistakes ask for it."""

    @wraps(function)
    def kept(call: Call) -> Any:
        if function not in call.made:
            call.made[function] = function(call)
        return call.made[function]

    return kept


def of_call(name: str) -> Callable[[Call], Any]:
    """One argument of a call, as a function of it."""
    return lambda call: call.arguments[name]


def of_seen(name: str) -> Callable[[Call], list[Any]]:
    """One field of what was seen, by rank, as a function of a call."""
    return lambda call: call.of(name)


def given(*names: str, **values: Any) -> Callable[[dict], bool]:
    """For `Criterion(on=...)`: the calls in which each of these arguments is true, or has this value."""
    return lambda arguments: (
        all(arguments[name] for name in names) and all(arguments[name] == each for name, each in values.items())
    )


def lacking(*names: str, **values: Any) -> Callable[[dict], bool]:
    """For `Criterion(on=...)`: the calls that `given` leaves."""
    there = given(*names, **values)
    return lambda arguments: not there(arguments)


def saying(judge: Judge, **nouns: str) -> Judge:
    """A judge that compares nothing, with other nouns in its messages: such as ``sample="pair"``."""

    def said(call: Call) -> Wrong | None:
        wrong = judge(call)
        message = wrong.message if wrong else ""
        for noun, other in nouns.items():
            message = re.sub(rf"\b{noun}(?=s?\b)", other, message)
            message = re.sub(rf"\b{noun.capitalize()}(?=s?\b)", other.capitalize(), message)
        return wrong and replace(wrong, message=message)

    return said


@dataclass(frozen=True)
class OfRecord:
    """A judge of what ranks communicated: where not all of it is recorded, nobody can say that it holds."""

    of_record: ClassVar[bool] = True
    judge: Judge

    def __call__(self, call: Call) -> Wrong | None:
        """What the judge says."""
        return self.judge(call)


def of_record(judge: Judge) -> OfRecord:
    """Marks a judge as one of what ranks communicated."""
    return OfRecord(judge)


@dataclass(frozen=True)
class FirstOf:
    """A judge that asks one after the other, and says what the first one finds.

    It reads the record if one of them does. Of those that compare values, one at most may be among them, as the
    mistakes of its criterion give values in that one's form. Raises ValueError if there are more.
    """

    judges: tuple[Judge, ...]

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if len(several := [each for each in map(comparing, self.judges) if each is not None]) > 1:
            raise ValueError(f"several judges in one criterion compare: {several}")

    @property
    def of_record(self) -> bool:
        """Whether one of them reads the record."""
        return any(getattr(each, "of_record", False) for each in self.judges)

    def __call__(self, call: Call) -> Wrong | None:
        """What the first one finds; as compared only if that one says `gives`, too."""
        for judge in self.judges:
            if (wrong := judge(call)) is not None:
                return wrong if comparing(judge) else replace(wrong, compared=False)
        return None


def first_of(*judges: Judge) -> FirstOf:
    """A judge that asks these one after the other, see `FirstOf`."""
    return FirstOf(judges)


def comparing(judge: Judge) -> Any:
    """The judge, or the one in it, that says `gives(call, value)`: whether a call shows it; None if none does."""
    if isinstance(judge, FirstOf):
        return next((each for each in map(comparing, judge.judges) if each is not None), None)
    return judge if hasattr(judge, "gives") else None
