"""What the ranks add up for a mean over all that they hold, such as a loss or an accuracy.

A rank holds parts, such as batches, of unequal sizes. What each known way to average wrongly gives is computed from
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograde.rubric.values.rounding import SINGLE
from autograde.rubric.values.same import by_rank


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
    """What known mistakes give on `size` ranks, a number or a list by rank, by ``key`` or ``key/form``, the most likely
    first. n: number of samples; less than are held, with copies."""
    ranks = [[part for part in parts if part.rank == rank] for rank in range(size)]
    filled = [of_rank for of_rank in ranks if of_rank and any(part.count for part in of_rank)] or ranks
    sums = [sum(part.total for part in of_rank) for of_rank in ranks]
    means, rows = [*map(mean_of, ranks)], [*map(mean_of_means, ranks)]
    own = {"": means, "/batches": rows, "/of all": [total / n for total in sums], "/sums": sums}
    own["/sums of means"] = [sum(mean_of([part]) for part in each) for each in ranks]
    own |= {"/averaged": [mean / size for mean in means], "/batches averaged": [row / size for row in rows]}
    found: dict[str, Any] = {}
    if sum(part.count for part in parts) > n:  # first, as among equal parts a mean of means gives the same
        found |= {"counted-twice": mean_of(parts), "counted-twice/of all": sum(sums) / n}
    found |= {f"own-part-only{form}": values for form, values in own.items()}
    for rank in range(size) if size > 1 else ():
        for form in ("", "/batches", "/of all", "/averaged"):
            found[f"one-ranks-part/{rank}{form}"] = own[form][rank]
    for form, each in (("ranks", mean_of), ("batches", mean_of_means)):
        found[f"mean-of-means/{form}"] = sum(map(each, ranks)) / size
        found[f"mean-of-means/{form}, none empty"] = sum(map(each, filled)) / len(filled)
    found["mean-of-means/all batches"] = mean_of_means(parts)
    found |= {"sum-for-mean": sum(sums), "sum-for-mean/ranks": sum(means), "sum-for-mean/rows": sum(rows)}
    found |= {"sum-for-mean/batches": sum(own["/sums of means"]), "sum-for-mean/size": mean_of(parts) * size}
    if places := sum(part.places for part in parts):
        found["mean-with-padding"] = sum(sums) / places
    return found


def totals_of(parts: Sequence[Part], size: int) -> list[float]:
    """What each rank adds up in all."""
    return [sum(part.total for part in parts if part.rank == rank) for rank in range(size)]


def counts_of(parts: Sequence[Part], size: int) -> list[int]:
    """Of how much each rank's part is."""
    return [sum(part.count for part in parts if part.rank == rank) for rank in range(size)]


def whole_divisor(total: float, values: Sequence[float | None]) -> int | None:
    """The whole number that `total` was divided by, if it was."""
    divisor = round(total / values[0]) if values[0] else 0
    fits = divisor > 0 and all(SINGLE(value, total / divisor) for value in values)
    return divisor if fits else None


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
