"""Which samples each step of SGD used, worked out from the path alone.

For the line y = m x + n a step is `-lr` times the mean of its samples' gradients. With few samples every batch gives
another step, so the step tells the batch. A path is judged by this, and not by how its author shuffled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np

from ..shared.line import sample_gradients

TOLERANCE = 2e-5  # relative: float32 arithmetic stays below it, a wrong factor or sample does not


def possible_batches(samples: int, batch_size: int) -> np.ndarray:
    """How often each sample is in a batch, for every batch that may explain a step: [k, samples], small ones first.

    Up to `batch_size` members with repetition; above that without, and only for fewer than 10 samples; and all of them.
    Left out are those with the same mean as a smaller one: two times sample 3 is sample 3.
    """
    several = (combinations_with_replacement(range(samples), size) for size in range(1, batch_size + 1))
    larger = range(batch_size + 1, samples) if samples < 10 else ()
    members = chain(*several, *(combinations(range(samples), size) for size in larger))
    counts = (Counter(each) for each in members)
    rows = [[each[sample] for sample in range(samples)] for each in counts if math.gcd(*each.values()) == 1]
    return np.array([*rows, [1] * samples], dtype=float)


# For each step the numbers of its samples, or None where a step fits no batch; the known mistakes that all steps share;
# the first step that is none of plain SGD, if there is one.
Steps = tuple[list[list[int]] | None, list[str], int | None]


def explained(
    x: Sequence[float],
    y: Sequence[float],
    path: Sequence[Sequence[float]],
    lr: float,
    batch_size: int,
    choices: np.ndarray,
) -> Steps:
    """Find for each step of `path` [T + 1, 2] the batch that gives it; failing that, allow for the known mistakes.

    Those are: the sum for the mean, or another divisor; half the gradient; the wrong sign; the step before added again
    (a gradient that was not zeroed). Needs few samples: up to 9, or a `batch_size` of up to 5. choices: as
    `possible_batches` gives them.
    """
    points, misfit = np.array(path), None
    divisors = {
        "": choices.sum(1),
        "last-batch-divided-by-batch-size": batch_size,
        "sum-not-mean": 1,
        "divided-by-all": len(x),
        "mean-divided-again": choices.sum(1) * batch_size,
    }
    steps, each = np.diff(points, axis=0)[:, None], sample_gradients(x, y, points[:-1]).numpy()
    before = np.concatenate([np.zeros((1, 1, 2)), steps])[:-1]
    scale = np.abs(points[:-1]).max(1) + lr * np.abs(each).max((1, 2)) + np.abs(before).max((1, 2))
    sums = lr * np.einsum("kn,tnd->tkd", choices, each)
    for carried, sign, half, (key, divisor) in product((False, True), (1, -1), (1, 2), divisors.items()):
        guess = -sign / half * sums / np.reshape(divisor, (-1, 1))
        miss = np.abs(guess - steps).max(2)
        if carried:
            miss = np.minimum(miss, np.abs(guess + before - steps).max(2))
        fits = miss.min(1) <= TOLERANCE * scale
        if fits.all():
            made = {"gradient-carried-over": carried, "wrong-sign": sign < 0, "factor-two": half > 1, key: key}
            used = choices[miss.argmin(1)].astype(int)
            batches = [[*chain(*([sample] * n for sample, n in enumerate(counts)))] for counts in used]
            return batches, [name for name, there in made.items() if there], misfit
        misfit = int(fits.argmin()) if misfit is None else misfit
    return None, [], misfit
