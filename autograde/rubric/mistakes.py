"""Known mistakes: they choose the words of a criterion that fails, if they explain every failure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from autograde.rubric.judge import Call
from autograde.rubric.words import Words, Wrong

Values = Callable[[Call], Mapping[str, Any]]
Sign = Callable[[Call], "Gives | Mapping | bool | None"]


class MistakeWarning(RuntimeWarning):
    """A sign of a mistake raised an error, so the words of the criterion itself are told: it has a defect."""


class Gives:
    """That a mistake would have given one of these values, in the form that the criterion's judge compares.

    facts: for the mistake's words.
    """

    def __init__(self, *values: Any, **facts: Any) -> None:
        self.values, self.facts = values, facts


class changed:
    """What known mistakes give, for `Mistakes`: the reference with something changed.

    reference: of a call and keyword arguments, in the form that the criterion's judge compares. changes: by key, with
    ``_`` for ``-``, one form or a list of several: other keyword arguments of the reference, each a value or a function
    of the call; or a function of the call, in place of the reference, whose None says that this call cannot tell.
    """

    def __init__(self, reference: Callable[..., Any] | None = None, /, **changes: Any) -> None:
        self.reference = reference
        self.forms = {key.replace("_", "-"): forms for key, forms in changes.items()}

    def __call__(self, call: Call) -> dict[str, Callable[[], Gives | None]]:
        """By key, what says what the mistake would have given in this call."""
        return {key: partial(self.of_key, key, call) for key in self.forms}

    def of_key(self, key: str, call: Call) -> Gives | None:
        """What one mistake would have given, in each of its forms; None where this call cannot tell."""
        forms = self.forms[key]
        each = [self.made(form, call) for form in (forms if isinstance(forms, list) else [forms])]
        if any(value is None for value in each):
            return None
        return each[0] if isinstance(each[0], Gives) else Gives(*each)

    def made(self, form: Any, call: Call) -> Any:
        """What one form of a mistake gives."""
        if callable(form):
            return form(call)
        return self.reference(call, **{name: each(call) if callable(each) else each for name, each in form.items()})


class Mistakes:
    """Known mistakes of a criterion, the most likely first.

    text: their words, see `Words`; fields are `size`, the call's arguments, and the facts of the judge and the mistake.
    values: of a call, by key what a mistake would have given, in the form that the criterion's judge compares, a tuple
    of several forms, or a function without arguments that gives either; see `changed`. A call whose values lack a key
    cannot tell whether the mistake is made.
    signs: by key, with ``_`` for ``-``: a function of a call that says whether the mistake is made in it: True or
    False; facts for its words in place of True; None where this call cannot tell. One that raises an error cannot tell,
    either, and a `MistakeWarning` says so.
    Raises ValueError if a sign or a key of `changed` has no words, or words have neither.
    """

    def __init__(self, text: str = "", values: Values | None = None, **signs: Sign) -> None:
        self.words, self.values = Words(text), values
        self.signs = {name.replace("_", "-"): sign for name, sign in signs.items()}
        known = {*self.signs, *(values.forms if isinstance(values, changed) else ())}
        unlike = known - {*self.words.messages}
        unlike |= {*self.words.messages} - known if values is None or isinstance(values, changed) else set()
        if unlike:
            raise ValueError(f"Mistakes have words and a sign each; these have one only: {', '.join(sorted(unlike))}")

    def signs_in(self, call: Call) -> Mapping[str, Callable[[], Gives | Mapping | bool | None]]:
        """By key, what says whether a mistake is made in this call."""
        values = asked(lambda: self.values(call), "any of them") or {} if self.values else {}
        if unlike := {*values} - {*self.words.messages}:
            raise ValueError(f"these mistakes have values and no words: {', '.join(sorted(unlike))}")
        signs = {
            key: partial(self.signs[key], call) if key in self.signs else partial(giving, values, key)
            for key in self.words.messages
        }
        return {key: partial(asked, sign, key) for key, sign in signs.items()}

    def explaining(self, failures: Sequence[tuple[Call, Wrong]], held: Sequence[Call], judge: Any) -> Wrong | None:
        """The mistake that explains all failures, in its words; None if none does. held: calls without a failure.
        judge: the one that compares."""
        best, most = None, 0
        failed = [(call, wrong, self.signs_in(call)) for call, wrong in failures]
        others = [(call, self.signs_in(call)) for call in held]
        for key in failed[0][2]:
            explaining, ruled_out = [], False
            for call, wrong, signs in failed:
                facts = explained(signs[key](), call, wrong, judge)
                if ruled_out := facts is False:
                    break
                explaining += [] if facts is None else [(call, wrong, facts)]
            if ruled_out or len(explaining) <= most:
                continue
            if not any(rules_out(signs[key](), call, judge) for call, signs in others):
                best, most = (key, *explaining[0]), len(explaining)
        if best is None:
            return None
        key, call, wrong, facts = best
        facts = {"size": call.size, **call.arguments, **wrong.facts, **facts}
        return Wrong(key, self.words.fill(key, facts), facts, wrong.report, call=call)


def asked(sign: Callable[[], Any], key: str) -> Any:
    """What a sign says; None, and a warning, if it raises an error."""
    try:
        return sign()
    except Exception as error:
        text = (
            f"whether a call shows the mistake {key!r} is not known, as asking raised {type(error).__name__}: {error}"
        )
        warnings.warn(text, MistakeWarning, stacklevel=2)
        return None


def giving(values: Mapping[str, Any], key: str) -> Gives | None:
    """What a mistake would have given, of what all of them would; None where this call cannot tell."""
    found = values.get(key)
    found = found() if callable(found) else found
    if found is None or isinstance(found, Gives):
        return found
    return Gives(*found) if isinstance(found, tuple) else Gives(found)


def explained(sign: Any, call: Call, wrong: Wrong, judge: Any) -> Mapping | bool | None:
    """Whether a mistake explains a failure: facts for its words if it does, False, or None where nobody can tell."""
    if isinstance(sign, Gives):
        alike = wrong.compared and any(judge.gives(call, value) for value in sign.values)
        return sign.facts if alike else False
    return {} if sign is True else sign


def rules_out(sign: Any, call: Call, judge: Any) -> bool:
    """Whether a call without a failure shows that a mistake is not made: it would have given something else."""
    return isinstance(sign, Gives) and not any(judge.gives(call, value) for value in sign.values)
