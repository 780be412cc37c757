"""Judge of a dict of numbers that a function returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autograde.contract.evidence import NumbersByName
from autograde.rubric.judge import Call
from autograde.rubric.values.rounding import Rounding
from autograde.rubric.values.same import Comparing, differences
from autograde.rubric.words import Words, Wrong

words = Words("""
not-all-numbers: Your function returns {kind}. A dict with the keys {keys} is expected.

entry-is-no-number: "{name}" is of type {kind}. A number is expected.

other-number: With {arguments}, "{name}" is {actual:.10g}, where {expected:.10g} is expected.
""")


@dataclass(frozen=True)
class HasNumbers(Comparing):
    """Judge of a dict of numbers, as `NumbersByName`, that a function without ranks returns.

    expected: of a call, the number by name. told: names of the call's arguments that a message repeats. rounding: how
    near they have to be. of: names of those that are judged here, where all have to be there; none: all.
    """

    expected: Callable[[Call], Mapping[str, float]]
    told: tuple[str, ...]
    rounding: Rounding = field(default_factory=lambda: Rounding(1e-9))
    of: tuple[str, ...] = ()

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        [seen], expected = call.seen, self.expected(call)
        for each in differences(seen, expected, self.rounding):
            if not each.place:
                missing = [name for name in expected if name not in seen.numbers]
                kind = seen.kind or f"a dict without {' and '.join(map(repr, missing))}"
                return words("not-all-numbers", kind=kind, keys=[*map(repr, expected)])
            [name] = each.place
            if name not in (self.of or expected):
                continue
            if each.what == "kind":
                return words("entry-is-no-number", name=name, kind=each.actual.kind)
            arguments = ", ".join(f"{argument} = {call.arguments[argument]}" for argument in self.told)
            about = {"name": name, "actual": float(each.actual.value), "expected": float(each.expected)}
            return words("other-number", compared=True, arguments=arguments, **about)
        return None

    def seen(self, call: Call) -> NumbersByName:
        """See `Comparing`."""
        return call.seen[0]

    @property
    def alike(self) -> Rounding:
        """See `Comparing`."""
        return self.rounding
