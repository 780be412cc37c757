"""Judges of a number that each rank returns: a float, or an int that is exact to the last digit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from autograde.contract.evidence import Number, Values
from autograde.rubric.judge import Call, Judge
from autograde.rubric.values.rounding import DIGITS, DOUBLE, KNOWN, SINGLE, Rounding
from autograde.rubric.values.same import Comparing, by_rank, differences
from autograde.rubric.words import Words, Wrong

# Words for `digits_lost_in_a_float=EachRankReturnsInt(...).lost_digits` among mistakes.
LOST_DIGITS = """
digits-lost-in-a-float: On rank {rank}, {what} is {actual}, where {expected} is expected. The last digits differ: a
float64 has room for 53 bits, and these numbers need more. Where do whole numbers turn into floats?
"""
# Words for `lost_in_16_bits=EachRankReturns(...).lost_in_16_bits` among mistakes.
HALF_PRECISION = """
lost-in-16-bits: {what}. That is half precision: 3 digits of 16 are left. Where does it get in?
"""
words = Words(
    HALF_PRECISION
    + """
no-number: Rank {rank} of {size} returns {what}; a finite float is expected.

not-a-float: What rank {rank} of {size} returns is of type {kind}. The lab asks for a float (numpy's float64 is one).

float32: {what}. That is single precision: 7 digits of 16 are left. Where does a float32 get in?

last-digits-differ: The ranks' results differ in their last digits. Every rank should return the very same number, bit
for bit: does each of them get it from the same call?

not-on-all-ranks: Rank 0 returns the expected {expected:.6g}, but rank {rank} returns {what}. Every rank needs the
result. Which call gives it to all of them?

wrong-value: Rank {rank} of {size} returns {actual:.10g}, where {expected:.10g} is expected{times}. Work out a small
example by hand and compare: is anything missing, counted twice, or divided once too often?

no-int: Rank {rank} of {size} returns {kind} as {what}; an int is expected.

int-in-a-tensor: Rank {rank} of {size} returns {what} as a {kind}. An int is expected, as `int(...)` or `.item()` gives
it.

int-through-float: {seen}. A float64 has room for 53 bits, and these numbers need more. Where do whole numbers turn into
floats?

not-all-values: {where} {kind}, where {what} are expected.

wrong-int: On rank {rank} of {size}, {what} is {actual}, where {expected} is expected.
"""
)


def float32(what: str) -> Wrong:
    """That digits were lost. what: where, a sentence without its full stop."""
    return words("float32", what=what)


def half_precision(what: str) -> Wrong:
    """That most digits were lost. what: where, a sentence without its full stop."""
    return words("lost-in-16-bits", what=what)


def through_float(seen: str) -> Wrong:
    """That digits were lost in a float. seen: where, a sentence without its full stop."""
    return words("int-through-float", seen=seen)


def in_words(number: Number) -> str:
    """What a rank returned: the number, or why there is none."""
    if number.value is not None:
        return f"{number.value:.6g}"
    if number.kind == "NoneType":
        return "None"
    return "a float that is nan or infinite" if number.is_float else f"a value of type {number.kind}"


@dataclass(frozen=True)
class EachRankReturns(Comparing):
    """Judge of floats that are the expected ones, one for each rank.

    expected: of a call, a number for each rank, or one for all; then all ranks return the very same, bit for bit.
    value: of a call, the `Number` of each rank. rounding: how near they have to be.
    """

    alike: ClassVar[Rounding] = KNOWN
    expected: Callable[[Call], float | Sequence[float]]
    value: Callable[[Call], list[Number]] = lambda call: call.of("value")
    rounding: Rounding = field(default_factory=Rounding)

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        numbers, expected = self.value(call), self.expected(call)
        size = len(numbers)
        alike = isinstance(expected, (int, float))
        right = by_rank(expected, len(numbers))
        wrong = [each.place[0] for each in differences(numbers, right, self.rounding)]
        missing = [rank for rank, number in enumerate(numbers) if number.value is None]
        if alike and wrong and 0 not in wrong:
            rank, what = wrong[0], in_words(numbers[wrong[0]])
            about = {"values": listed(numbers), "size": size, "actual": numbers[rank].value, "expected": expected}
            return words("not-on-all-ranks", compared=not missing, rank=rank, what=what, **about)
        if missing:
            return words("no-number", rank=missing[0], size=size, what=in_words(numbers[missing[0]]))
        if wrong and all(map(SINGLE, [number.value for number in numbers], right)):
            return float32(f"The result is off by {abs(numbers[wrong[0]].value - right[wrong[0]]):.0e}")
        if wrong:
            actual, due = numbers[wrong[0]].value, right[wrong[0]]
            times = f": it is {actual / due:.6g} times as much" if due else ""
            about = {"rank": wrong[0], "size": size, "actual": actual, "expected": due, "times": times}
            return words("wrong-value", compared=True, values=listed(numbers), **about)
        lost = next((number.kind for number in numbers if "float32" in number.kind), "")
        if lost and self.rounding.relative < SINGLE.relative:
            return float32(f"The result is of type {lost}")
        if other := [rank for rank, number in enumerate(numbers) if not number.is_float]:
            about = {"actual": numbers[other[0]].value, "expected": right[other[0]], "values": listed(numbers)}
            return words("not-a-float", compared=True, rank=other[0], size=size, kind=numbers[other[0]].kind, **about)
        return words("last-digits-differ") if alike and len({number.value for number in numbers}) > 1 else None

    def lost_in_16_bits(self, call: Call) -> dict | bool:
        """Whether the numbers are those that float16 or bfloat16 have near the expected ones: by how much the first
        such is off, as facts for the words."""
        actual = [number.value for number in self.value(call)]
        pairs = [*zip(actual, by_rank(self.expected(call), len(actual)), strict=True)]
        near = Rounding(DIGITS["bfloat16"])
        if not all(near(one, due) and has_few_digits(one) for one, due in pairs):
            return False
        off = [abs(one - due) for one, due in pairs if not SINGLE(one, due)]
        return {"what": f"The result is off by {off[0]:.0e}"} if off else False

    def seen(self, call: Call) -> list[Number]:
        """See `Comparing`."""
        return self.value(call)


@dataclass(frozen=True)
class EachRankReturnsInt(Comparing):
    """Judge of whole numbers that are the expected ones, one for each rank, exact to the last digit.

    expected: of a call, an int for each rank, or one for all. value: of a call, the `Number` of each rank. what: the
    number in words, such as "the sum of its share". For its criterion, `Mistakes(LOST_DIGITS,
    digits_lost_in_a_float=judge.lost_digits)` says where only the last digits are others.
    """

    alike: ClassVar[Rounding] = DOUBLE  # an int is compared exactly
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
        if not all(isinstance(one, int) and DOUBLE(one, float(two)) for _, (one, two) in pairs):
            return False
        off = [{"rank": rank, "actual": one, "expected": two} for rank, (one, two) in pairs if one != two]
        return {**off[0], "what": self.what} if off else False

    def seen(self, call: Call) -> list[Number]:
        """See `Comparing`."""
        return self.value(call)


def has_values(what: str, values: Callable[[Call], list[Values]]) -> Judge:
    """All values are there, where several are to be returned. what: they, in words, such as "the local rank and the
    local size"; values: of a call, the `Values` of each rank."""

    def judge(call: Call) -> Wrong | None:
        kinds = {rank: each.kind for rank, each in enumerate(values(call)) if each.kind}
        if not kinds:
            return None
        rank = min(kinds)
        where = f"Rank {rank} returns" if call.size > 1 else "Your function returns"
        return words("not-all-values", where=where, kind=kinds[rank], what=what)

    return judge


def has_few_digits(value: float) -> bool:
    """Whether a number, of the size of 1, is one of those that float16 or bfloat16 have."""
    half, single = struct.pack(">e", value), struct.pack(">f", value)
    return struct.unpack(">e", half)[0] == value or struct.unpack(">f", single[:2] + b"\0\0")[0] == value


def listed(numbers: Sequence[Number]) -> str:
    """What the ranks returned, in their order."""
    return ", ".join(map(in_words, numbers))
