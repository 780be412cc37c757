"""The check of `distributed_gradient`: unequal shares, some of them empty, and one reduction of three numbers."""

import numpy as np

from autograde.rubric import (
    SINGLE,
    CallCheck,
    Collectives,
    Criterion,
    EachRankReturns,
    Gives,
    Mistakes,
    Rounding,
    Same,
    Words,
    argument_unchanged,
    first_of,
    has_values,
    nothing_starts_or_ends,
    of_seen,
)

from ..probes import distributed_gradient

words = Words("""
empty-rank: Where a rank has no samples, {who:returns|return} a gradient that is nan. What should such a rank
contribute, so that the others can go on?
""")


def parts(call):
    """Of each rank's samples, the sums of the derivatives by m and by n, [ranks, 2], and the numbers, [ranks, 1]."""
    sums = []
    for x, y in zip(map(np.array, call.arguments["x"]), map(np.array, call.arguments["y"]), strict=True):
        error = 2 * (call.arguments["m"] * x + call.arguments["n"] - y)
        sums.append([(error * x).sum(), error.sum()])
    return np.array(sums), np.array([[len(x)] for x in call.arguments["x"]])


def gradient(call):
    sums, counts = parts(call)
    return (sums.sum(0) / counts.sum()).tolist()


def gradients(call):
    return [gradient(call)] * call.size


def where(call, place):
    return f"On rank {place[0]}, {('dm', 'dn')[place[1]] if place[1:] else 'the gradient'}"


def known_mistakes(call):
    """By key, what each makes of the sums: two derivatives, or those of each rank."""
    (sums, counts), size = parts(call), call.size
    total, n, own = sums.sum(0), counts.sum(), np.maximum(1, counts)
    means = (sums / own).sum(0)
    made = {
        "rank-means-averaged": (means / size, means / (counts > 0).sum()),
        "gradients-added": (means,),
        "own-part-only": (sums / own, sums / n),
        "divided-by-own-count": (total / own, total / own / size),
        "divided-by-ranks": (total / size,),
        "sum-over-samples": (total,),
        "average-for-sum": (total / n / size,),
        "factor-two-missing": (total / n / 2,),
        "uphill-or-down": (-total / n,),
    }
    return {key: Gives(*(np.broadcast_to(each, sums.shape).tolist() for each in some)) for key, some in made.items()}


def derivative(at):
    """Judge of one of the two: on all ranks the same, bit for bit."""

    def shown(call):
        return [pair[at] for pair in PAIRS(call)]

    return EachRankReturns(lambda call: gradient(call)[at], shown, SINGLE)


def floats(call):
    return derivative(0)(call) or derivative(1)(call)


def mean_of_nothing(call):
    """What is wrong if ranks return nan, where one has no samples."""
    nan = [any(each.is_float and each.value is None for each in pair.numbers) for pair in call.of("pair")]
    return words.on_ranks("empty-rank", [rank for rank, there in enumerate(nan) if there])


PAIRS = of_seen("pair")
TWO = has_values("two floats, the derivative by m and the one by n,", PAIRS)
GRADIENT, NEARLY = (Same(PAIRS, gradients, where, near) for near in (Rounding(1e-9), SINGLE))
MISTAKES = Mistakes(
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

    factor-two-missing: Each part is half of what is expected. Differentiate the square once more.

    uphill-or-down: Each part has the wrong sign. The gradient points uphill, and the step against it comes later.
    """,
    known_mistakes,
)


def some_empty(arguments):
    return not all(arguments["x"])


def none_empty(arguments):
    return all(arguments["x"])


def cases(rng):
    """Ranks with many samples and with few, on 4, 3, 2 ranks and one; then with none."""

    def call(*counts):
        draw = {name: [[rng.uniform(-3, 3) for _ in range(k)] for k in counts] for name in "xy"}
        return {"m": rng.uniform(1, 2), "n": rng.uniform(1, 2), **draw}

    full = ((7, 1, 4, 2), (3, 2, 5, 1)), ((2, 9, 3), (4, 1, 6)), ((1, 4),), ((5,),)
    with_none = ((3, 0, 5, 1), (0, 6, 2, 3)), ((0, 0, 4), (4, 0, 7)), ((0, 3), (6, 0))
    return [(len(calls[0]), *(call(*each) for each in calls)) for calls in (*full, *with_none)]


RIGHT = (
    "each rank returns the gradient over all samples: two floats, in double precision and the same on every rank, bit "
    "for bit"
)
ONE = (
    "there is one all-reduce of Horovod's, of at most 24 bytes, and no other communication. On a single rank it may be "
    "left out"
)
ONE_ALLREDUCE = Collectives("horovod", "allreduce", "all-reduce", most_bytes=lambda call: 24)
NONE = "it also works where a rank has no samples"
CHECK = CallCheck.of(
    "distributed_gradient",
    distributed_gradient.PROBE,
    cases,
    Criterion("gradient", 1.5, RIGHT, first_of(TWO, GRADIENT, floats), MISTAKES, on=none_empty),
    Criterion("empty", 0.5, NONE, first_of(mean_of_nothing, TWO, NEARLY, floats), MISTAKES, on=some_empty),
    Criterion("reduction", 0.75, ONE, first_of(ONE_ALLREDUCE, nothing_starts_or_ends)),
    Criterion("arguments", 0.25, "x and y stay as they are", argument_unchanged),
    repeats=False,  # each call has other numbers
    consolidation="Sums can be added over ranks, and means cannot: so the sums travel, together with the count. Then N "
    "ranks give the gradient of one process with all samples.",
)
