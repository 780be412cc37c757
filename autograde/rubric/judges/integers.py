"""Judge of a whole number that each rank returns, exact to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograde.contract.evidence import Number
from autograde.rubric.criterion import Call
from autograde.rubric.judges.numbers import by_rank, in_words
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Words, Wrong

NEAR = Rounding(2.0**-40)  # relative; as near to a whole number, it went through float64

FLOATS = "A float64 has 53 bits for its digits, and these numbers need more. Where do whole numbers turn into floats?"
LOST_DIGITS = f"""
digits-lost-in-a-float: On rank {{rank}}, {{what}} is {{actual}}, where {{expected}} is
expected. The last digits differ.
{FLOATS}
"""
words = Words(f"""
no-int: Rank {{rank}} of {{size}} returns {{kind}} as {{what}}; an int is expected.

int-in-a-tensor: Rank {{rank}} of {{size}} returns {{what}} as a {{kind}}. An int is expected, as `int(...)` or
`.item()` gives it.

int-through-float: {{seen}}. {FLOATS}

wrong-int: On rank {{rank}} of {{size}}, {{what}} is {{actual}}, where {{expected}} is expected.
""")


def through_float(seen: str) -> Wrong:
    """That digits were lost in a float. seen: where, a sentence without its full stop."""
    return words("int-through-float", seen=seen)


@dataclass(frozen=True)
class EachRankReturnsInt:
    """Judge of whole numbers that are the expected ones, one for each rank, exact to the last digit.

    expected: of a call, an int for each rank, or one for all. value: of a call, the `Number` of each rank. what: the
    number in words, such as "the sum of its share". For its criterion, `Mistakes(LOST_DIGITS,
    digits_lost_in_a_float=judge.lost_digits)` says where only the last digits are others.
    """

    expected: Callable[[Call], int | Sequence[int]]
    value: Callable[[Call], list[Number]] = lambda call: call.of("value")
    what: str = "the result"

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        numbers, about = self.value(call), {"size": call.size, "what": self.what}
        right = by_rank(self.expected(call), len(numbers))
        for rank, number in enumerate(numbers):
            if number.is_float or "float" in number.kind:
                return through_float(f"Rank {rank} returns {self.what} as a float")
            if not isinstance(number.value, int):
                return words("no-int", rank=rank, kind=in_words(number), **about)
        wrong = [rank for rank, number in enumerate(numbers) if number.value != right[rank]]
        if wrong:
            rank, values = wrong[0], [number.value for number in numbers]
            return words("wrong-int", compared=True, rank=rank, actual=values[rank], expected=right[rank], **about)
        if held := [rank for rank, number in enumerate(numbers) if number.kind.startswith("Tensor")]:
            return words("int-in-a-tensor", rank=held[0], kind=numbers[held[0]].kind, **about)
        return None

    def lost_digits(self, call: Call) -> dict | bool:
        """Whether the numbers are ints, and nearly the expected ones, as those that went through a float64: the first
        such, as facts for the words."""
        actual = [getattr(number, "value", None) for number in self.value(call)]
        right = [*by_rank(self.expected(call), len(actual))]
        pairs = [*enumerate(zip(actual, right, strict=True))]
        if not all(isinstance(one, int) and NEAR(one, float(two)) for _, (one, two) in pairs):
            return False
        off = [{"rank": rank, "actual": one, "expected": two} for rank, (one, two) in pairs if one != two]
        return {**off[0], "what": self.what} if off else False

    def gives(self, call: Call, value: float | Sequence[float]) -> bool:
        """Whether the ranks returned this: a number for each, or one for all; an int exactly, a float nearly."""
        actual = [number.value for number in self.value(call)]
        return len(actual) > 0 and all(map(NEAR, actual, by_rank(value, len(actual))))


JUDGES = (EachRankReturnsInt,)
