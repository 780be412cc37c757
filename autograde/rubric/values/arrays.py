"""Judges of an array that each rank returns: its kind, dtype, shape and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from autograde.contract.evidence import FEW, Array, sketch
from autograde.rubric.judge import Call
from autograde.rubric.values.numbers import float32
from autograde.rubric.values.rounding import Rounding
from autograde.rubric.values.same import by_rank
from autograde.rubric.words import Ranks, Words, Wrong
from course.watch.wording import name_ranks

LOOSE = Rounding(1e-5)  # as near to what a mistake gives, an array is taken to come of it
AS_FLOAT = 1e-14  # relative; as near to a whole number, it went through float64

words = Words("""
returns-no-array: Rank {rank} of {size} returns {kind}, where an array is expected.

array-of-other-dtype: Rank {rank} returns an array of {actual}, made from arrays of {expected}. In which array do the
numbers arrive?

array-of-other-shape: Rank {rank} returns an array of shape {actual}, where the shape {expected} is expected.

not-on-all-ranks: The expected array is on some ranks, but not on {who}. Every rank needs it.

through-float: On rank {rank}, {where} is {actual}, where {expected} is expected. They differ in the last digits: whole
numbers beyond 2**53 do not fit into a float64. Where do your integers become floats?

bits-differ-by-rank: On {who} the result differs from rank 0's in its last bits. Each rank adds up in another order, and
rounding follows the order. How can one rank's sum be everybody's?

wrong-entry: On rank {rank} of {size}, {where} is {actual}, where {expected} is expected. Take small arrays, and follow
one number from rank to rank: who has it, and what becomes of it?
""")


@dataclass(frozen=True)
class EachRankReturnsArray:
    """Judge of arrays that are the expected ones, one for each rank: kind, dtype, shape, and numbers.

    expected: of a call, an array for each rank, in a list, or one for all. result: of a call, the `Array` of each rank.
    ranks: of a call, those that are looked at; None: all.
    """

    expected: Callable[[Call], Any]
    result: Callable[[Call], list[Array]] = lambda call: call.of("result")
    ranks: Callable[[Call], Iterable[int]] | None = None

    def looked_at(self, call: Call) -> list[tuple[int, Array, np.ndarray]]:
        """Rank, result and expected array of those that are looked at."""
        due, results = by_rank(self.expected(call), call.size), self.result(call)
        ranks = range(call.size) if self.ranks is None else self.ranks(call)
        return [(rank, results[rank], due[rank]) for rank in ranks]

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        each_rank, size = self.looked_at(call), call.size
        for rank, seen, due in each_rank:
            if not seen.is_array:
                return words("returns-no-array", rank=rank, size=size, kind=seen.kind)
            if seen.dtype != str(due.dtype):
                return words("array-of-other-dtype", rank=rank, actual=seen.dtype, expected=str(due.dtype))
        wrong = [(rank, seen, due) for rank, seen, due in each_rank if not alike(seen.entries, due)]
        reshaped = [(rank, seen, due) for rank, seen, due in each_rank if seen.shape != [*due.shape]]
        if not wrong and not reshaped:
            return None
        one_for_all = not isinstance(self.expected(call), (list, tuple))
        if one_for_all and 0 < len(wrong) < len(each_rank) and not reshaped:
            return words("not-on-all-ranks", compared=True, size=size, who=Ranks(rank for rank, *_ in wrong))
        rank, seen, due = (reshaped or wrong)[0]
        if reshaped:
            about = {"rank": rank, "size": size, "actual": shape_text(seen.shape), "expected": shape_text(due.shape)}
            return words("array-of-other-shape", compared=True, **about)
        return self.other_numbers(call, wrong)

    def other_numbers(self, call: Call, wrong: Sequence[tuple[int, Array, np.ndarray]]) -> Wrong:
        """The words for numbers that are not the expected ones, with the first of them."""
        rank, seen, due = wrong[0]
        right, near = sketch(due), Rounding.of(str(due.dtype))
        place = next((at for at, number in enumerate(right) if not near(at_place(seen.entries, at), number)), 0)
        actual, expected = at_place(seen.entries, place), right[place] if right else None
        about = {"rank": rank, "size": call.size, "where": place_text(place, due.shape)}
        about |= {"actual": number_text(actual), "expected": number_text(expected)}
        pairs = [(one, two) for _, each, other in wrong for one, two in zip(each.entries, sketch(other), strict=False)]
        if due.dtype.kind == "i" and all(
            one is not None and abs(one - two) <= AS_FLOAT * abs(two) for one, two in pairs
        ):
            return words("through-float", compared=True, **about)
        single = Rounding.of("float32")
        if str(due.dtype) == "float64" and all(single(one, two) for one, two in pairs):
            return float32(
                f"On rank {rank}, {about['where']} is {about['actual']}, where {about['expected']} is expected"
            )
        return words("wrong-entry", compared=True, **about)

    def gives(self, call: Call, value: Any) -> bool:
        """Whether the ranks returned this: an array for each, or one for all. What is as good as the expected array is
        to be the same but for rounding; else it is enough to be near."""
        given, each_rank = by_rank(value, call.size), self.looked_at(call)
        if all(alike(seen.entries, given[rank]) for rank, seen, _ in each_rank):
            return True
        like_expected = all(alike(sketch(due), given[rank], LOOSE) for rank, _, due in each_rank)
        return not like_expected and all(alike(seen.entries, given[rank], LOOSE) for rank, seen, _ in each_rank)


def same_bits(call: Call) -> Wrong | None:
    """Judge of arrays that all ranks return, the very same, bit for bit."""
    results = call.of("result")
    others = [rank for rank, seen in enumerate(results) if seen.digest != results[0].digest]
    return words("bits-differ-by-rank", who=Ranks(others)) if others else None


def alike(entries: list, array: Any, near: Rounding | None = None) -> bool:
    """Whether entries, as `Array` keeps them, are those of an array, but for rounding in its dtype."""
    right = sketch(array)
    if near is None:
        return Rounding.of(str(np.asarray(array).dtype))(entries, right)
    return near(entries, [None if each is None else float(each) for each in right])


def at_place(entries: list, place: int) -> Any:
    """The entry at a place; None if there is none."""
    return entries[place] if place < len(entries) else None


def place_text(place: int, shape: Sequence[int]) -> str:
    """What `sketch` has at this place of an array, in words."""
    n = int(np.prod(shape))
    if n > FEW and place > 6:
        return "the sum of all entries" if place == 7 else "a sum of all entries, weighted by their places,"
    return f"entry {place if n <= FEW or place < 3 else n // 2 if place == 6 else n - 6 + place}"


def number_text(number: Any) -> str:
    """A number of an array, as text."""
    if number is None:
        return "nan, infinite or missing"
    return str(number) if isinstance(number, int) else f"{number:.8g}"


def shape_text(shape: Sequence[int]) -> str:
    """A shape as the docstrings write it: "[3, 4]"."""
    return str([*map(int, shape)])


def summands(actual: Sequence[Any], arrays: Sequence[np.ndarray]) -> list[int] | None:
    """How often each rank's array is in a sum, by its sketch; None if it is no such sum, or cannot be told."""
    columns = np.array([sketch(values) for values in arrays], dtype=float).T
    if len(columns) < len(arrays) or None in actual or len(actual) != len(columns):
        return None
    try:
        seen = np.array([*map(float, actual)])
    except OverflowError:
        return None
    whole = np.round(np.linalg.lstsq(columns, seen, rcond=None)[0])
    fits = np.allclose(columns @ whole, seen, rtol=1e-6)
    return whole.astype(int).tolist() if fits and (whole >= 0).all() else None


def some_of(actual: list, arrays: Sequence[np.ndarray], op: Any) -> list[int] | None:
    """The largest set of ranks, not all, whose arrays `op` combines to what is seen; None if there is none."""
    for count in range(len(arrays) - 1, 0, -1):
        for ranks in combinations(range(len(arrays)), count):
            if alike(actual, reduce(op, [arrays[rank] for rank in ranks])):
                return [*ranks]
    return None


def counted(times: Sequence[int]) -> str:
    """How often each rank's array is in a sum, in words, for those that are not in it once."""
    groups = {number: [rank for rank, each in enumerate(times) if each == number] for number in sorted({*times} - {1})}
    often = {0: "missing", 2: "counted twice"}
    told = [
        f"{name_ranks(ranks)} {'is' if len(ranks) == 1 else 'are'} {often.get(n, f'counted {n} times')}"
        for n, ranks in groups.items()
    ]
    return ", and ".join(told)


def first_off(call: Call, right: Any) -> int:
    """The first rank that returns another array than the right one; 0 if none does. right: one for all, or by rank."""
    due = by_rank(right, call.size)
    return next((rank for rank, each in enumerate(call.of("result")) if not alike(each.entries, due[rank])), 0)


def other_summands(call: Call, right: Any, arrays: Sequence[Sequence[np.ndarray]]) -> dict | bool | None:
    """Whether what the first wrong rank returns is a sum in which a rank's array is missing, or is more than once: the
    rank and the times, as facts for a mistake's words. arrays: for each rank, what all
    ranks' arrays would add to its result."""
    rank, due = first_off(call, right), by_rank(right, call.size)
    one_for_all = not isinstance(right, (list, tuple))
    if one_for_all and any(alike(each.entries, due[0]) for each in call.of("result")):
        return False
    if len(sketch(arrays[rank][0])) < call.size:
        return None
    times = summands(call.seen[rank].result.entries, arrays[rank])
    return {"rank": rank, "times": counted(times)} if times and {*times} != {1} else False
