"""The check of `distributed_gradient`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, first_of, of_record
from autograde.rubric.judges.conduct import argument_unchanged, nothing_starts_or_ends
from autograde.rubric.judges.numbers import SINGLE, EachRankReturns
from autograde.rubric.judges.reductions import one_allreduce
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Ranks, Words, Wrong

from ..probes import distributed_gradient

MOST = 24  # bytes of the reduction: three float64

words = Words("""
empty-rank: Where a rank has no samples, {who:returns|return} a gradient that is nan. What should such a rank
contribute, so that the others can go on?

not-dm-and-dn: Rank {rank} returns {kind}. Two floats are expected: the derivative by m, and the one by n.

several-reductions: One call of your function makes {n} reductions, and each of them keeps all ranks waiting. Can what
they carry travel together?

reduction-too-large: The reduction carries {bytes:byte} a rank, where three float64 are enough, 24 bytes. What can a
rank add up by itself first?
""")


def parts(call: Call) -> list[tuple[float, float, int]]:
    """By rank: the sums of its samples' derivatives by m and by n, and their number."""
    found = []
    for xs, ys in zip(call.arguments["x"], call.arguments["y"], strict=True):
        x, y = np.array(xs), np.array(ys)
        error = 2 * (call.arguments["m"] * x + call.arguments["n"] - y)
        found.append((float((error * x).sum()), float(error.sum()), len(xs)))
    return found


def gradient(call: Call) -> tuple[float, float]:
    """The two derivatives over all samples."""
    by_m, by_n, counts = map(sum, zip(*parts(call), strict=True))
    return by_m / counts, by_n / counts


def derivative(place: int, name: str, near: Rounding) -> EachRankReturns:
    """Judge of one of them."""
    return EachRankReturns(lambda call: gradient(call)[place], value=lambda call: call.of(name), rounding=near)


class BothDerivatives:
    """Judge of the two floats. near: how near they have to be."""

    def __init__(self, near: Rounding) -> None:
        self.judges = derivative(0, "dm", near), derivative(1, "dn", near)

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        for rank, kind in enumerate(call.of("kind")):
            if kind:
                return words("not-dm-and-dn", rank=rank, kind=kind)
        found = [wrong for judge in self.judges if (wrong := judge(call)) is not None]
        return next((wrong for wrong in found if wrong.compared), found[0] if found else None)

    def gives(self, call: Call, value: tuple[Any, Any]) -> bool:
        """Whether the ranks returned these: each a number, or one by rank."""
        return all(judge.gives(call, each) for judge, each in zip(self.judges, value, strict=True))


GRADIENT, NEARLY = BothDerivatives(Rounding(1e-9)), BothDerivatives(SINGLE)


def of_one(sums: list[float], counts: list[int]) -> dict[str, tuple]:
    """What each mistake makes of one derivative, in one form or several: a number, or one by rank."""
    size, total, n = len(sums), sum(sums), sum(counts)
    own = [part / count if count else 0.0 for part, count in zip(sums, counts, strict=True)]
    least = [max(1, count) for count in counts]
    made: dict[str, tuple] = {
        "rank-means-averaged": (sum(own) / size, sum(own) / sum(1 for count in counts if count)),
        "gradients-added": (sum(own),),
        "own-part-only": (own, [part / n for part in sums]),
        "divided-by-own-count": (
            *([total / (count * by) if count else None for count in counts] for by in (1, size)),
            *([total / (count * by) for count in least] for by in (1, size)),
        ),
        "divided-by-ranks": (total / size,),
        "sum-over-samples": (total,),
        "average-for-sum": (total / n / size,),
        "factor-two-missing": (total / n / 2,),
        "uphill-or-down": (-total / n,),
    }
    if n % size:
        made["count-rounded"] = tuple(total / size / count for count in (max(1, n // size), -(-n // size)))
    return made


def known_mistakes(call: Call) -> dict[str, tuple]:
    """By key, pairs of derivatives."""
    by_m, by_n, counts = zip(*parts(call), strict=True)
    one, two = of_one([*by_m], [*counts]), of_one([*by_n], [*counts])
    return {key: tuple(zip(forms, two[key], strict=True)) for key, forms in one.items()}


MISTAKES = MistakesGiving(
    """
    rank-means-averaged: Your result is the mean of the ranks' own gradients, so a sample on a rank that has few counts
    more than one on a rank that has many. What has to be added up over the ranks before anything is divided?

    gradients-added: The ranks' mean gradients are added up, so the result grows with the number of ranks. The gradient
    of a mean is expected: what should the sum be divided by?

    own-part-only: Each rank returns what follows from its own samples alone. Where do the other ranks' samples come in?

    divided-by-own-count: Each rank divides the sum over all ranks by a count of its own, so the ranks disagree. Who
    knows how many samples there are on all ranks?

    divided-by-ranks: The sum over all samples is divided by the number of ranks, {size}. How many samples does it go
    over?

    sum-over-samples: The result is a sum over all samples, which is not divided by their number.

    average-for-sum: On {size:rank} the result is {size} times too small. Is there an average over the ranks where a sum
    belongs?

    count-rounded: The number of samples in your result is not a whole average: an average of whole numbers loses what
    is behind the point.

    factor-two-missing: Each part is half of what is expected. Differentiate the square once more.

    uphill-or-down: Each part has the wrong sign. The gradient points uphill, and the step against it comes later.
    """,
    known_mistakes,
)


def some_empty(arguments: dict) -> bool:
    """Whether a rank has no samples."""
    return not all(arguments["x"])


def mean_of_nothing(call: Call) -> Wrong | None:
    """What is wrong if ranks return nan, where one has no samples."""
    ranks = [rank for rank, seen in enumerate(call.seen) if seen.dm.is_float and seen.dm.value is None]
    return words("empty-rank", who=Ranks(ranks)) if ranks else None


def right(call: Call) -> bool:
    """Whether all ranks returned the gradient."""
    return GRADIENT(call) is None


ONE_REDUCTION = one_allreduce("horovod", right)


@of_record
def one_small_reduction(call: Call) -> Wrong | None:
    """One all-reduce of Horovod's with three numbers, and nothing else; a single rank needs none. What float32 loses is
    another criterion's."""
    wrong = None if call.size == 1 else ONE_REDUCTION(call)
    if wrong is None or wrong.key not in ("allreduce-in-the-loop", "too-many-bytes", "float32"):
        return wrong
    if (n := max(map(len, call.events))) > 1:
        return words("several-reductions", n=n)
    sent = max(event["bytes"] or 0 for log in call.events for event in log)
    return words("reduction-too-large", bytes=sent) if sent > MOST else None


class DistributedGradient(CallCheck):
    """Unequal shares, some of them empty, and one reduction of three numbers."""

    todo, probe = "distributed_gradient", distributed_gradient.PROBE
    consolidation = (
        "Sums can be added over ranks, and means cannot: so the sums travel, together with the count. Then N ranks "
        "give the gradient of one process with all samples."
    )
    criteria = (
        Criterion(
            "gradient",
            1.5,
            "each rank returns the gradient over all samples: two floats, in double precision and the same on "
            "every rank, bit for bit",
            GRADIENT,
            MISTAKES,
            on=lambda arguments: not some_empty(arguments),
        ),
        Criterion(
            "empty",
            0.5,
            "it also works where a rank has no samples",
            first_of(mean_of_nothing, NEARLY),
            MISTAKES,
            on=some_empty,
        ),
        Criterion(
            "reduction",
            0.75,
            "there is one all-reduce of Horovod's, of at most 24 bytes, and no other communication. On a single "
            "rank it may be left out",
            first_of(one_small_reduction, nothing_starts_or_ends),
        ),
        Criterion("arguments", 0.25, "x and y stay as they are", argument_unchanged),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks with many samples and with few, on 4, 3, 2 ranks and one; then with none."""

        def call(*counts: int) -> dict:
            draw = {name: [[rng.uniform(-3, 3) for _ in range(k)] for k in counts] for name in "xy"}
            return {"m": rng.uniform(1, 2), "n": rng.uniform(1, 2), **draw}

        def case(*counts: tuple[int, ...]) -> dict:
            size = len(counts[0])
            return {"size": size, "calls": [call(*each) for each in counts], "late": rng.randrange(size)}

        cases = [case((7, 1, 4, 2), (3, 2, 5, 1)), case((2, 9, 3), (4, 1, 6)), case((1, 4)), case((5,))]
        return [*cases, case((3, 0, 5, 1), (0, 6, 2, 3)), case((0, 0, 4), (4, 0, 7)), case((0, 3), (6, 0))]


CHECK = DistributedGradient()
