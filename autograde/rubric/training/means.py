"""Judges of a mean over what all ranks hold, such as a loss or an accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, ClassVar

from autograde.probes.weighed_part import was_weighed
from autograde.rubric.communication.origin import Due, carried, stays
from autograde.rubric.judge import Call
from autograde.rubric.mistakes import Gives, Mistakes, Values
from autograde.rubric.training.parts import Part, counts_of, mean_candidates, mean_of, totals_of, whole_divisor
from autograde.rubric.values.numbers import EachRankReturns
from autograde.rubric.values.rounding import KNOWN, SINGLE, Rounding
from autograde.rubric.values.same import Comparing
from autograde.rubric.words import Words, Wrong

MEANS = """
own-part-only: Each rank returns what follows from its own {what} alone: {values}. Where do the other ranks' {what} come
in?

one-ranks-part: All ranks return {actual:.6g}, which follows from the {what} of one rank alone. Over the {what} of all
ranks, it is {expected:.6g}. Where do the other ranks' {what} come in?

counted-twice: There are {n} {what}, and the ranks hold {counts}: the result is {actual:.6g}, as if those that are held
twice counted twice. {expected:.6g} is expected. How can you tell a copy?

mean-of-means: The result is {actual:.6g}, a mean of means: it gives the {what} of a small part more weight than those
of a large one. The ranks hold {counts}. Over all {what}, the mean is {expected:.6g}. What do you have to add up before
you divide?

sum-for-mean: The result is {actual:.6g}, a sum that grows with the number of ranks, of batches, or of {what}. A mean is
expected: {expected:.6g}. What should the sum be divided by?

mean-with-padding: The result is {actual:.6g}: the sum is divided by all places, padding included. Over the {what} alone
it is {expected:.6g}. Which places count?

fraction-lost: The result is {actual:.6g}, where {expected:.6g} is expected: somewhere a fraction is cut off. Which
numbers are whole ones on their way, and may not be?

average-for-sum: The result is {actual:.6g}, which is {size} times too small. Is there an average over the ranks where a
sum belongs?

wrong-divisor: The result is {actual:.6g}: the sum over all {what}, divided by {divisor}. There are {n} {what}, so
{expected:.6g} is expected. Which number do you divide by?
"""
KEYS = tuple(key for key in Words(MEANS).messages if key != "wrong-divisor")  # of those that give a value


@dataclass(frozen=True)
class MeanOnAll(Comparing):
    """All ranks return the mean over what all of them hold, and it comes of what they communicate.

    parts: of a call, what the ranks add up, see `Part`. expected, n: of a call, the mean, and the number that it is of,
    where parts hold copies or lack some. value: of a call, the `Number` of each rank. logs: of a call, what the ranks
    communicated for it. A call may be one in which a rank's part weighs more, see `autograde.probes.weighed_part`: then
    only a result that is right all the same is wrong. beside: of a call, what else ranks may put in, by rank.
    of_record: whether a mean that comes of calls which are not recorded is one of which nobody can say that it holds.
    """

    alike: ClassVar[Rounding] = KNOWN
    parts: Callable[[Call], Sequence[Part]]
    expected: Callable[[Call], float] | None = None
    n: Callable[[Call], int] | None = None
    value: Callable[[Call], Any] = lambda call: call.of("value")
    logs: Callable[[Call], Any] = lambda call: call.events
    beside: Callable[[Call], Any] = lambda call: ()
    of_record: bool = True

    def mean(self, call: Call) -> float:
        """The right one."""
        return float(self.expected(call) if self.expected else mean_of(self.parts(call)))

    def count(self, call: Call) -> int:
        """The number that it is of."""
        return self.n(call) if self.n else max(1, sum(part.count for part in self.parts(call)))

    def seen(self, call: Call) -> Any:
        """See `Comparing`."""
        return self.value(call)

    def __call__(self, call: Call) -> Wrong | None:
        """The number, then where it comes from."""
        wrong = EachRankReturns(self.mean, self.value, SINGLE)(call)
        about = (self.parts(call), call.size, self.mean(call), self.count(call), self.beside(call))
        if was_weighed(call.case, call.notes):
            return None if wrong else stays(self.logs(call), due_of(*about))
        return wrong or came_of(self.logs(call), *about)

    def mistakes(self, what: str, text: str = "", also: Values = lambda call: {}, **signs: Any) -> Mistakes:
        """Known mistakes. what: is counted, in the plural. text, also, signs: further ones, words, values and signs,
        see `Mistakes`."""

        def facts(call: Call) -> dict:
            counts = ", ".join(map(str, counts_of(self.parts(call), call.size)))
            return {"what": what, "n": self.count(call), "counts": counts}

        def forms(call: Call) -> dict[str, Gives]:
            parts, mean, known = self.parts(call), self.mean(call), {}
            given = mean_candidates(parts, call.size, self.count(call))
            given |= {"fraction-lost": float(int(mean)), "fraction-lost/rounded": float(round(mean))}
            given |= {"average-for-sum": mean / call.size}
            if is_whole(parts):
                average = sum(part.total for part in parts) // call.size
                given["fraction-lost/average"] = average * call.size / self.count(call)
            for form, value in given.items():
                known.setdefault(form.partition("/")[0], []).append(value)
            if all(each.value is None for each in self.value(call)):
                known.pop("one-ranks-part", None)  # that rank may have nothing, and no number comes of it
            return {key: Gives(*forms, **facts(call)) for key, forms in known.items()}

        def values(call: Call) -> dict[str, Any]:
            if was_weighed(call.case, call.notes):
                return {}
            known = cache(lambda: forms(call))  # all of them at once, when the first one is asked for
            return {key: lambda key=key: known().get(key) for key in KEYS} | {**also(call)}

        def wrong_divisor(call: Call) -> dict | bool | None:
            """Of small whole numbers nobody can tell: they divide by chance."""
            parts, numbers = self.parts(call), [each.value for each in self.value(call)]
            if was_weighed(call.case, call.notes) or is_whole(parts):
                return None
            divisor = whole_divisor(sum(part.total for part in parts), numbers)
            return {"divisor": divisor, **facts(call)} if divisor and divisor != self.count(call) else False

        return Mistakes(MEANS + text, values, wrong_divisor=wrong_divisor, **signs)


def came_of(
    logs: Sequence[Sequence[dict]],
    parts: Sequence[Part],
    size: int,
    expected: float,
    n: int,
    beside: Sequence[Sequence[float]] = (),
) -> Wrong | None:
    """What is wrong with how the right mean of n came about. A rank may bring its sum, its mean, or what its sum
    lacks, as they are, divided, or in percent. logs: what the ranks communicated for it, events by rank. beside: what
    else the ranks may put in, by rank."""
    totals, counts = totals_of(parts, size), counts_of(parts, size)
    means = [mean_of([part for part in parts if part.rank == rank]) for rank in range(size)]
    lacks = [count - total for count, total in zip(counts, totals, strict=True)]
    return carried(logs, totals, means, lacks, due=due_of(parts, size, expected, n, beside))


def due_of(parts: Sequence[Part], size: int, expected: float, n: int, beside: Sequence[Sequence[float]] = ()) -> Due:
    """What is known of the right mean of n. beside: as for `came_of`."""
    counts = counts_of(parts, size)
    divisors = {1.0, float(n), float(max(1, sum(counts)))}
    ways = product((0.01, 1.0, 100.0), {1.0, 1 / size, float(size)}, divisors)
    factors = {percent * ranks / divisor for percent, ranks, divisor in ways}
    return Due(expected, factors, counts=counts, items=n, beside=beside)


def is_whole(parts: Sequence[Part]) -> bool:
    """Whether whole numbers are added up, such as hits."""
    return all(float(part.total).is_integer() for part in parts)
