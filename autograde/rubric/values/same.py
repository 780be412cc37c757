"""The judge of what is shown beside what should be: numbers, texts and arrays, in lists and dicts inside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from autograde.contract.evidence import Array, Number, NumbersByName, Values, sketch
from autograde.rubric.judge import Call
from autograde.rubric.values.rounding import EXACT, SINGLE, Rounding
from autograde.rubric.words import Words, Wrong, counted
from course.watch.wording import enumerate_words

Place = tuple[int | str, ...]

words = Words("""
another-kind: {where} is {actual}, where {expected} is expected.

another-length: {where} has {actual}, where {expected} are expected{given}.

another-dtype: {where} is of dtype {actual}, where {expected} is expected.

another-shape: {where} has the shape {actual}, where {expected} is expected{given}.

another-value: {where} is {actual}, where {expected} is expected{given}.

float32: {where} is {actual}, where {expected} is expected. That is single precision: 7 digits of 16 are left. Where
does a float32 get in?
""")


@dataclass(frozen=True)
class Difference:
    """A place at which two values differ: kind, length, dtype, shape, or the value itself."""

    what: Literal["kind", "length", "dtype", "shape", "value"]
    place: Place
    actual: Any
    expected: Any

    @property
    def actual_text(self) -> str:
        """What is there, in words."""
        return text_of(self.what, self.actual)

    @property
    def expected_text(self) -> str:
        """What is expected, in words."""
        return text_of(self.what, self.expected)

    @property
    def single(self) -> bool:
        """Whether it is a float, and agrees in the digits that float32 has."""
        return isinstance(self.expected, float) and SINGLE(bare(self.actual), self.expected)


def text_of(what: str, value: Any) -> str:
    """Of a value that is there, or expected, what differs."""
    if what == "kind":
        return kind_of(value)
    if what == "length":
        return counted(len(value), "entry")
    if what == "dtype":
        return str(value.dtype)
    return str([*value.shape]) if what == "shape" else shown(value)


def differences(actual: Any, expected: Any, near: Rounding = EXACT, place: Place = ()) -> Iterator[Difference]:
    """All places at which they differ; nothing below a place where kinds, lengths, dtypes or shapes do.

    actual: of evidence: `Number`, int, float, str, bool or None; `Array`; lists, dicts, `Values` and `NumbersByName` of
    these. expected: the same in plain; an array, of numpy or torch, for an `Array`, whose dtype says how near its
    entries have to be. near: how near other numbers have to be. Where an array is large, places are those of its
    `sketch`.
    """
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    actual = actual.numbers if isinstance(actual, Values) and not actual.kind else actual
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)):
            yield Difference("kind", place, actual, expected)
        elif len(actual) != len(expected):
            yield Difference("length", place, actual, expected)
        else:
            for number, pair in enumerate(zip(actual, expected, strict=True)):
                yield from differences(*pair, near, (*place, number))
    elif isinstance(expected, Mapping):
        there = actual.numbers if isinstance(actual, NumbersByName) else actual
        if not isinstance(there, Mapping) or not {*expected} <= {*there}:
            yield Difference("kind", place, actual, expected)
        else:
            for name, each in expected.items():
                yield from differences(there[name], each, near, (*place, name))
    elif isinstance(actual, Array):
        yield from in_array(actual, expected, place)
    elif not near(bare(actual), expected):
        number = isinstance(expected, (int, float)) and not isinstance(expected, bool)
        alike = isinstance(bare(actual), (int, float)) if number else type(bare(actual)) is type(expected)
        yield Difference("value" if alike else "kind", place, actual, expected)


def in_array(actual: Array, expected: Any, place: Place) -> Iterator[Difference]:
    """Those of an array. expected: of numpy; None where there is to be none."""
    if expected is None or not actual.is_array:
        if actual.kind != str(expected):
            yield Difference("kind", place, actual, expected)
    elif actual.dtype != str(expected.dtype):
        yield Difference("dtype", place, actual, expected)
    elif actual.shape != [*expected.shape]:
        yield Difference("shape", place, actual, expected)
    else:
        yield from differences(actual.entries, sketch(expected), Rounding.of(actual.dtype), place)


def bare(value: Any) -> Any:
    """The number in a `Number`; else the value itself."""
    return value.value if isinstance(value, Number) else value


def kind_of(value: Any) -> str:
    """What a value is, in words, where its kind differs."""
    if isinstance(value, Number):
        kind = "nan or infinite" if value.is_float else f"of type {value.kind}"
        return kind if value.value is None else shown(value)
    if isinstance(value, NumbersByName):
        return value.kind or kind_of(value.numbers)
    if isinstance(value, Mapping) and not value:
        return "a dict with none of these keys"
    if isinstance(value, Mapping):
        return f"a dict with the keys {enumerate_words([*map(repr, value)])}"
    if isinstance(value, (Array, Values)):
        return value.kind
    return "an array" if hasattr(value, "dtype") else "a list" if isinstance(value, (list, tuple)) else shown(value)


def shown(value: Any) -> str:
    """A value as text."""
    number = bare(value)
    if isinstance(number, float):
        return f"{number:.10g}"
    if isinstance(number, (list, tuple)):
        return f"[{', '.join(map(shown, number))}]"
    return str(number)


class Comparing:
    """Base of judges that compare: `gives` says whether a call shows a value, such as that of a known mistake.

    alike: how near numbers have to be to come of a mistake.
    """

    alike: Rounding

    def seen(self, call: Call) -> Any:
        """What the call shows, in the form of the values of mistakes."""
        raise NotImplementedError

    def gives(self, call: Call, value: Any) -> bool:
        """Whether this is what is shown. value: where the ranks' results stand in a list, one for each, or for all."""
        seen = self.seen(call)
        due = by_rank(value, len(seen)) if isinstance(seen, list) else value
        return next(differences(seen, due, self.alike), None) is None


@dataclass(frozen=True)
class Same(Comparing):
    """What is shown is what is expected, place by place: the kind, the length, the numbers; see `differences`.

    actual, expected: of a call. where: of a call and a place in these, the place in words, such as "At step 3, the
    learning rate", or `on_ranks`. near: how near numbers have to be. given: names of the call's arguments that the
    message repeats. instead: of a call, what came in place of all of it, in words; empty if it is there. otherwise: of
    a call and a `Difference`, the words for it; None: the library's.
    """

    actual: Callable[[Call], Any]
    expected: Callable[[Call], Any]
    where: Callable[[Call, Place], str]
    near: Rounding = EXACT
    given: tuple[str, ...] = ()
    instead: Callable[[Call], str] | None = None
    otherwise: Callable[[Call, Difference], Wrong | None] | None = None

    def seen(self, call: Call) -> Any:
        """See `Comparing`."""
        return self.actual(call)

    @property
    def alike(self) -> Rounding:
        """See `Comparing`."""
        return self.near

    def __call__(self, call: Call) -> Wrong | None:
        """The first place that differs; of numbers that all agree in their first digits, that they do."""
        return self.wrong(call, ("kind", "length", "dtype", "shape", "value"))

    def form(self, call: Call) -> Wrong | None:
        """The same, of kinds, lengths and shapes alone."""
        return self.wrong(call, ("kind", "length", "shape"))

    def wrong(self, call: Call, looked_at: Sequence[str]) -> Wrong | None:
        """What is wrong with one call. looked_at: kinds of differences."""
        if kind := self.instead(call) if self.instead else "":
            return words("another-kind", where=self.where(call, ()), actual=kind, expected="something else")
        off = [*differences(self.actual(call), self.expected(call), self.near)]
        off = [each for each in off if each.what in looked_at]
        if not off:
            return None
        first, compared = off[0], off[0].what in ("length", "shape", "value")
        if self.otherwise and (wrong := self.otherwise(call, first)) is not None:
            return replace(wrong, compared=compared)
        given = "".join(f", with {name} = {shown(call.arguments[name])}" for name in self.given)
        about = {"where": self.where(call, first.place), "given": given}
        about |= {"actual": first.actual_text, "expected": first.expected_text}
        if first.what == "value" and all(each.single for each in off):
            return words("float32", **about)
        return words(f"another-{first.what}", compared=compared, **about)


def by_rank(expected: Any, size: int) -> Sequence[Any]:
    """A list by rank, of what is the same on all."""
    return expected if isinstance(expected, (list, tuple)) else [expected] * max(1, size)


def on_ranks(what: str, *entries: str) -> Callable[[Call, Place], str]:
    """For `Same(where=...)`, of values by rank: "on rank 2, the list", "on rank 2, batch 1 of the list".

    what: of a rank, in words; each "{}" in it stands for the next number or name of the place. entries: what the
    numbers behind these count; "entry" if there is no word for one.
    """
    named = what.count("{}")

    def where(call: Call, place: Place) -> str:
        if not place:
            return what
        rank, names, inner = place[0], place[1 : 1 + named], place[1 + named :]
        nouns = [*entries, *["entry"] * len(inner)]
        parts = ", ".join(f"{noun} {number}" for noun, number in zip(nouns, inner, strict=False))
        return f"On rank {rank}, {parts and f'{parts} of '}{what.format(*names)}"

    return where
