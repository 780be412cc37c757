"""Verdicts on an evaluation: a mean over what all ranks hold, which all of them are to return, such as a loss or an
accuracy; and the mode, train or eval, in which the model ran and was left.

A rank holds parts, such as batches, of unequal sizes. What each known way to average wrongly gives is computed from
them, and told where a result is just that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.numbers import by_rank, not_floats, on_all
from autograde.verdicts.reductions import Due, carried, stays
from course.world.report import name_ranks

TOLERANCE = 1e-5  # a sum in float32 stays below it

finding = Findings("""
one-ranks-part 2
All ranks return {actual:.6g}, which follows from the {what} of one rank alone. Over the {what} of all ranks, it is
{expected:.6g}. Where do the other ranks' {what} come in?

mean-of-means 2
The result is {actual:.6g}, a mean of means: it gives the {what} of a small part more weight than those of a large one.
The ranks hold {counts}. Over all {what}, the mean is {expected:.6g}. What do you have to add up before you divide?

sum-for-mean 2
The result is {actual:.6g}, a sum that grows with the number of ranks, of batches, or of {what}. A mean is expected:
{expected:.6g}. What should the sum be divided by?

counted-twice 2
There are {n} {what}, and the ranks hold {counts}: the result is {actual:.6g}, as if those that are held twice counted
twice. {expected:.6g} is expected. How can you tell a copy?

mean-with-padding 2
The result is {actual:.6g}: the sum is divided by all places, padding included. Over the {what} alone it is
{expected:.6g}. Which places count?

wrong-divisor 2
The result is {actual:.6g}: the sum over all {what}, divided by {divisor}. There are {n} {what}, so {expected:.6g} is
expected. Which number do you divide by?

not-evaluated 2
No rank has shown the model {missing} of the {n} samples. Are samples lost where the ranks cannot share them evenly?

not-eval-mode 2
The model is not in eval mode while it is evaluated: dropout drops, and BatchNorm uses the statistics of the batch and
keeps a record of them.

mode-not-restored 1
The model came in {came} mode. Afterwards, on {who}, it is in the other one, and whoever called your function goes on in
the wrong mode.
""")


@dataclass(frozen=True)
class Part:
    """What a rank adds up in one piece, such as a batch.

    total: of losses or hits. count: of samples or tokens in it. places: those and padding, where there is any.
    """

    rank: int
    total: float
    count: int
    places: int = 0


def mean_of(parts: Sequence[Part]) -> float:
    """The mean over all samples or tokens; 0 where there are none."""
    return sum(part.total for part in parts) / max(1, sum(part.count for part in parts))


def mean_of_means(parts: Sequence[Part]) -> float:
    """The mean of the parts' own means; 0 where there are none."""
    return sum(map(mean_of, ([part] for part in parts))) / max(1, len(parts))


def mean_candidates(parts: Sequence[Part], size: int, n: int) -> dict[str, float | list[float]]:
    """What known mistakes give on `size` ranks, for `on_all`. n: number of samples; less than are held, with copies."""
    by_rank = [[part for part in parts if part.rank == rank] for rank in range(size)]
    filled = [of_rank for of_rank in by_rank if of_rank and any(part.count for part in of_rank)] or by_rank
    sums = [sum(part.total for part in of_rank) for of_rank in by_rank]
    means, rows = [*map(mean_of, by_rank)], [*map(mean_of_means, by_rank)]
    own = {"": means, "/batches": rows, "/of all": [total / n for total in sums], "/sums": sums}
    own["/sums of means"] = [sum(mean_of([part]) for part in each) for each in by_rank]
    own |= {"/averaged": [mean / size for mean in means], "/batches averaged": [row / size for row in rows]}
    found: dict[str, Any] = {}
    if sum(part.count for part in parts) > n:  # first, as among equal parts a mean of means gives the same
        found |= {"counted-twice": mean_of(parts), "counted-twice/of all": sum(sums) / n}
    found |= {f"own-part-only{form}": values for form, values in own.items()}
    for rank in range(size) if size > 1 else ():
        for form in ("", "/batches", "/of all", "/averaged"):
            found[f"one-ranks-part/{rank}{form}"] = own[form][rank]
    for form, each in (("ranks", mean_of), ("batches", mean_of_means)):
        found[f"mean-of-means/{form}"] = sum(map(each, by_rank)) / size
        found[f"mean-of-means/{form}, none empty"] = sum(map(each, filled)) / len(filled)
    found["mean-of-means/all batches"] = mean_of_means(parts)
    found |= {"sum-for-mean": sum(sums), "sum-for-mean/ranks": sum(means), "sum-for-mean/rows": sum(rows)}
    found |= {"sum-for-mean/batches": sum(own["/sums of means"]), "sum-for-mean/size": mean_of(parts) * size}
    if places := sum(part.places for part in parts):
        found["mean-with-padding"] = sum(sums) / places
    return found


def mean_on_all(
    results: Sequence[dict],
    parts: Sequence[Part],
    what: str,
    expected: float | None = None,
    n: int | None = None,
    candidates: Mapping[str, Any] | None = None,
    make: Callable[..., Finding] = finding,
    logs: Sequence[Sequence[dict]] = (),
    weighed: bool = False,
    beside: Sequence[Sequence[float]] = (),
    **how: Any,
) -> list[Finding | Diagnosis]:
    """What is wrong with the mean that the ranks returned, `results` as `on_all` takes them.

    parts: of all ranks. what: is counted, in the plural. expected, n: the mean, and the number that it is of, where
    parts hold copies or lack some. candidates, make: further mistakes, as for `on_all`, and so is all else. logs: what
    the ranks communicated for it, events by rank; none: that does not matter. weighed: whether a rank's part weighed
    more on its way, see `autograde.probes.weighed_part`: then only a result that should not be right is wrong. beside:
    what else the ranks may put in, by rank.
    """
    size, count = len(results), sum(part.count for part in parts)
    n, expected = n or count, mean_of(parts) if expected is None else expected
    about = {"what": what, "n": n, "counts": ", ".join(map(str, counts_of(parts, size)))}
    known = {**mean_candidates(parts, size, n), "average-for-sum": expected / size, **(candidates or {})}
    given = how.get("tolerance", TOLERANCE)
    right = all(agree(result["value"], expected, given) for result in results)
    if weighed:
        return stays(logs, due_of(parts, size, expected, n)) if right else []
    total = sum(part.total for part in parts)
    divisor = whole_divisor(total, [result["value"] for result in results], given)

    def made(key: str, **seen: Any) -> Finding:
        return (finding if key in finding.known else make)(key, **{**about, **seen})

    if divisor and not all(float(part.total).is_integer() for part in parts):  # small whole numbers divide by chance
        known["wrong-divisor"], about["divisor"] = total / divisor, divisor
    found = on_all(results, expected, known, made, **{"tolerance": TOLERANCE, **how})
    return found + (came_of(logs, parts, size, expected, n, beside) if right else [])


def came_of(
    logs: Sequence[Sequence[dict]],
    parts: Sequence[Part],
    size: int,
    expected: float,
    n: int,
    beside: Sequence[Sequence[float]] = (),
) -> list[Finding]:
    """What is wrong with how the right mean of n came about. A rank may bring its sum, its mean, or what its sum
    lacks, as they are, divided, or in percent. beside: as for `mean_on_all`."""
    totals, counts = totals_of(parts, size), counts_of(parts, size)
    means = [mean_of([part for part in parts if part.rank == rank]) for rank in range(size)]
    lacks = [count - total for count, total in zip(counts, totals, strict=True)]
    return carried(logs, totals, means, lacks, due=due_of(parts, size, expected, n, beside))


def due_of(parts: Sequence[Part], size: int, expected: float, n: int, beside: Sequence[Sequence[float]] = ()) -> Due:
    """What is known of the right mean of n. beside: as for `mean_on_all`."""
    counts = counts_of(parts, size)
    divisors = {1.0, float(n), float(max(1, sum(counts)))}
    ways = product((0.01, 1.0, 100.0), {1.0, 1 / size, float(size)}, divisors)
    factors = {percent * ranks / divisor for percent, ranks, divisor in ways}
    return Due(expected, factors, counts=counts, items=n, beside=beside)


def totals_of(parts: Sequence[Part], size: int) -> list[float]:
    """What each rank adds up in all."""
    return [sum(part.total for part in parts if part.rank == rank) for rank in range(size)]


def counts_of(parts: Sequence[Part], size: int) -> list[int]:
    """Of how much each rank's part is."""
    return [sum(part.count for part in parts if part.rank == rank) for rank in range(size)]


def whole_divisor(total: float, values: Sequence[float | None], tolerance: float) -> int | None:
    """The whole number that `total` was divided by, if it was."""
    divisor = round(total / values[0]) if values[0] else 0
    fits = divisor > 0 and all(agree(value, total / divisor, tolerance) for value in values)
    return divisor if fits else None


def accuracy_on_all(
    results: Sequence[dict], hits: Sequence[bool], shares: Sequence[Sequence[int]], **how: Any
) -> list[Finding | Diagnosis]:
    """What is wrong with the accuracy that the ranks returned. hits: of all samples. shares: samples shown, by rank.
    how: logs and weighed, as for `mean_on_all`."""
    n, values, parts = len(hits), [result["value"] for result in results], accuracy_parts(hits, shares)
    judged = mean_on_all(results, parts, "samples", sum(hits) / n, n, **how)
    if not (missing := n - len({number for of_rank in shares for number in of_rank} & {*range(n)})):
        return judged
    unseen = finding("not-evaluated", missing=missing, n=n)
    of_shown = (mean_of(parts), sum(part.total for part in parts) / n)
    explained = any(all(agree(value, one, TOLERANCE) for value in values) for one in of_shown)
    return [unseen, *not_floats(results, exact=False)] if explained else [unseen, *judged]


def accuracy_parts(hits: Sequence[bool], shares: Sequence[Sequence[int]]) -> list[Part]:
    """What each rank adds up: its hits among the samples that it was shown."""
    known = [[number for number in of_rank if 0 <= number < len(hits)] for of_rank in shares]
    return [Part(rank, sum(hits[int(number)] for number in own), len(own)) for rank, own in enumerate(known)]


def loss_parts(losses: Sequence[Sequence[float]], sizes: Sequence[Sequence[int]]) -> list[Part]:
    """The batches of all ranks. losses: their means, by rank. sizes: samples in them."""
    return [
        Part(rank, loss * count, count)
        for rank, own in enumerate(zip(losses, sizes, strict=True))
        for loss, count in zip(*own, strict=True)
    ]


def apart(
    parts: Sequence[Part], size: int, keys: Sequence[str], by: float, right: float | None = None, n: int | None = None
) -> bool:
    """Whether what these mistakes, ``key`` or ``key/form``, give is off by more than `by`, relative, on every rank.

    right, n: the mean, and the number that it is of, where parts hold copies. So a drawn case tells mistakes apart.
    """
    expected = mean_of(parts) if right is None else right
    known = mean_candidates(parts, size, n or sum(part.count for part in parts))
    values = [value for key in keys for value in by_rank(known[key], size)]
    return all(abs(value - expected) > by * abs(expected) for value in values)


def evaluated(passes: Sequence[bool]) -> list[Finding]:
    """A finding unless the model was in eval mode in all forward passes. passes: whether it was in train mode."""
    return [finding("not-eval-mode")] if any(passes) else []


def restored(came: bool, left: Sequence[bool]) -> list[Finding]:
    """A finding unless the model is in the mode in which it came, true for train mode. left: by rank."""
    other = [rank for rank, mode in enumerate(left) if mode != came]
    return [finding("mode-not-restored", came="train" if came else "eval", who=name_ranks(other))] if other else []
