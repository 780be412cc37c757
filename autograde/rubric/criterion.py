"""A criterion: what has to hold, its points, and how a mistake is named where it does not.

Points belong to criteria, words to mistakes. A criterion holds if it holds in every call that it looks at; then it
gives its points, and else none. A known mistake only chooses the words: it is told if it explains every failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any

from autograde.rubric.words import Words, Wrong

NO_MISTAKES: Mapping[str, Callable] = MappingProxyType({})


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

    def of(self, name: str) -> list[Any]:
        """One field of the evidence, by rank."""
        return [getattr(each, name) for each in self.seen]


def once(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """A function of a `Call` that is worked out once for each, as several criteria and mistakes ask for it."""

    @wraps(function)
    def kept(call: Call) -> Any:
        if function not in call.made:
            call.made[function] = function(call)
        return call.made[function]

    return kept


class Gives:
    """That a mistake would have given one of these values, in the form that the criterion's judge compares.

    facts: for the mistake's words.
    """

    def __init__(self, *values: Any, **facts: Any) -> None:
        self.values, self.facts = values, facts


class Mistakes:
    """Known mistakes of a criterion, the most likely first.

    text: their words, see `Words`; fields are `size`, the call's arguments, and the facts of the judge and the mistake.
    signs: by key, with ``_`` for ``-``: a function of a `Call` that says whether this mistake is made in it. It returns
    `Gives` for what the mistake would have given; or True or False, or facts (a dict) in place of True; or None where
    this call cannot tell.
    """

    def __init__(self, text: str = "", **signs: Callable[[Call], Gives | Mapping | bool | None]) -> None:
        self.words = Words(text)
        self.signs = {name.replace("_", "-"): sign for name, sign in signs.items()}
        if unlike := {*self.words.messages} ^ {*self.signs}:
            raise ValueError(f"Mistakes have words and a sign each; these have one only: {', '.join(sorted(unlike))}")

    def signs_in(self, call: Call) -> Mapping[str, Callable[[], Gives | Mapping | bool | None]]:
        """By key, what says whether a mistake is made in this call."""
        return {key: partial(sign, call) for key, sign in self.signs.items()}

    def explaining(self, failures: Sequence[tuple[Call, Wrong]], held: Sequence[Call], judge: Any) -> Wrong | None:
        """The mistake that explains all failures, in its words; None if none does. held: calls without a failure."""
        best, most = None, 0
        failed = [(call, wrong, self.signs_in(call)) for call, wrong in failures]
        others = [(call, self.signs_in(call)) for call in held]
        for key in failed[0][2]:
            told = [(call, wrong, explained(signs[key](), call, wrong, judge)) for call, wrong, signs in failed]
            explaining = [each for each in told if each[2] is not None and each[2] is not False]
            ruled_out = any(each[2] is False for each in told)
            if (
                len(explaining) > most
                and not ruled_out
                and not any(rules_out(signs[key](), call, judge) for call, signs in others)
            ):
                best, most = (key, *explaining[0]), len(explaining)
        if best is None:
            return None
        key, call, wrong, facts = best
        facts = {"size": call.size, **call.arguments, **wrong.facts, **facts}
        return Wrong(key, self.words.fill(key, facts), facts, wrong.report, call=call)


class MistakesGiving(Mistakes):
    """Mistakes that are all recognised by what they would have given.

    text: see `Mistakes`. values: of a call, that by key, or a tuple of several; a call whose values lack a key cannot
    tell whether this mistake is made.
    """

    def __init__(self, text: str, values: Callable[[Call], Mapping[str, Any]]) -> None:
        self.words, self.values = Words(text), values

    def signs_in(self, call: Call) -> Mapping[str, Callable[[], Gives | None]]:
        """See `Mistakes`; the values are worked out once."""
        values = self.values(call)
        if unlike := {*values} - {*self.words.messages}:
            raise ValueError(f"these mistakes have values and no words: {', '.join(sorted(unlike))}")
        return {key: partial(gives, values, key) for key in self.words.messages}


def gives(values: Mapping[str, Any], key: str) -> Gives | None:
    """What a mistake would have given, of what all of them would."""
    if key not in values:
        return None
    return Gives(*values[key]) if isinstance(values[key], tuple) else Gives(values[key])


def explained(sign: Any, call: Call, wrong: Wrong, judge: Any) -> Mapping | bool | None:
    """Whether a mistake explains a failure: facts for its words if it does, False, or None where nobody can tell."""
    if isinstance(sign, Gives):
        alike = wrong.compared and any(judge.gives(call, value) for value in sign.values)
        return sign.facts if alike else False
    return {} if sign is True else sign


def rules_out(sign: Any, call: Call, judge: Any) -> bool:
    """Whether a call without a failure shows that a mistake is not made: it would have given something else."""
    return isinstance(sign, Gives) and not any(judge.gives(call, value) for value in sign.values)


@dataclass(frozen=True)
class Criterion:
    """One row of a rubric.

    name: small letters and hyphens; it stays when words change. points: what it gives. says: what has to hold, a
    sentence that is put into the TODO's docstring. judge: what is wrong with a call, or None; a function, or an object
    that also says `gives(call, value)`: whether the call shows this value. mistakes: words for known mistakes. on: of
    a call's arguments, whether the criterion looks at it; None: it looks at all. after: names of criteria of which a
    failure of this one may just be a consequence: if one of them fails as well, this one is not told apart.
    """

    name: str
    points: float
    says: str
    judge: Callable[[Call], Wrong | None]
    mistakes: Mistakes = field(default_factory=Mistakes)
    on: Callable[[dict], bool] | None = None
    after: tuple[str, ...] = ()

    def looks_at(self, arguments: dict) -> bool:
        """Whether it looks at a call with these arguments."""
        return self.on is None or self.on(arguments)

    def wrong(self, calls: Iterable[Call]) -> Wrong | None:
        """What is wrong, in the words of a mistake if one explains it all; None if it holds in each call."""
        failures, held = [], []
        for call in calls:
            if self.looks_at(call.arguments):
                wrong = self.failure(call)
                held.append(call) if wrong is None else failures.append((call, replace(wrong, call=call)))
        return self.mistakes.explaining(failures, held, self.judge) or failures[0][1] if failures else None

    def failure(self, call: Call) -> Wrong | None:
        """What is wrong with one call, as far as is recorded."""
        from_record = getattr(self.judge, "of_record", False)
        if from_record and call.record == "none":
            return None
        wrong = self.judge(call)
        unknown = call.unseen or call.record != "all"
        return None if wrong is not None and wrong.absent and unknown else wrong


def of_record(judge: Callable) -> Callable:
    """Marks a judge of what ranks communicated: a call of which nothing is recorded neither holds nor fails."""
    judge.of_record = True
    return judge


def first_of(*judges: Callable[[Call], Wrong | None]) -> Callable[[Call], Wrong | None]:
    """A judge that asks one after the other, and says what the first one finds. It reads the record if one of them
    does, and has `gives` of the first that has it."""

    def judge(call: Call) -> Wrong | None:
        return next((wrong for each in judges if (wrong := each(call)) is not None), None)

    judge.of_record = any(getattr(each, "of_record", False) for each in judges)
    if gives := next((each.gives for each in judges if hasattr(each, "gives")), None):
        judge.gives = gives
    return judge
