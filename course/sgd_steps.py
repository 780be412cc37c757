"""Which samples each step of SGD used, worked out from the path alone.

For the line y = m x + n a step is `-lr` times the mean of its samples' gradients. With few samples every batch gives
another step, so the step tells the batch. A path is judged by this, and not by how its author shuffled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product

import torch

from course.line_fit import TOLERANCE, sample_gradients

# What `judge_path` may find, in words. {n}: number of samples, {size}: the batch size asked for, {rows}: of the path.
MISTAKES = {
    "rows-all-equal": "From row 1 on all rows are the same point: perhaps the one tensor that every step changes.",
    "wrong-start": "Row 0 is {first}, not `start` = {start}.",
    "start-missing": "Row 0 is {first}, the point after the first step. It should be `start` = {start}.",
    "last-row-missing": "The path has {rows} rows, one too few: it stops before the last step.",
    "wrong-number-of-steps": "{n} samples, batch size {size}, {epochs} epochs: {due} rows are due, {rows} are there.",
    "last-batch-dropped": "{n} samples, batch size {size}: the samples that do not fill a batch were left out.",
    "wrong-step": "Step {step} is not -lr times the mean gradient of any batch of the samples at row {step}.",
    "x-y-torn": "The steps fit an x and a y of different samples: the two were shuffled apart.",
    "sum-not-mean": "The steps are -lr times the *sum* of the batch's gradients, not their mean.",
    "last-batch-divided-by-batch-size": "A batch of fewer than {size} samples was divided by {size} too.",
    "divided-by-all": "The sum over each batch was divided by all {n} samples, not by those in the batch.",
    "factor-two": "All steps are half as long as they should be.",
    "wrong-sign": "The steps lead uphill: against the slope is the other way.",
    "gradient-carried-over": "Each step also repeats the one before it: a gradient was added to an old one.",
    "whole-set-each-step": "The batch size is {size}, but each step used all {n} samples.",
    "with-replacement": "Epoch {epoch} used a sample twice. An epoch visits each of the samples once.",
    "samples-missed": "Epoch {epoch} did not visit all {n} samples.",
    "wrong-batch-size": "Epoch {epoch} had batches of {sizes} samples; the batch size is {size}.",
    "not-shuffled": "Every epoch visits the samples in the order in which they are stored.",
    "same-order-every-epoch": "Two epochs had the same order: the shuffling starts anew each time.",
    "batches-not-cut-anew": "Every epoch has the same batches, only in another order.",
}
FIXED = frozenset({"not-shuffled", "whole-set-each-step"})  # with these, all seeds may give the same path


@cache
def possible_batches(samples: int, batch_size: int) -> torch.Tensor:
    """How often each sample is in a batch, for every batch that may explain a step: [k, samples], small ones first.

    Up to `batch_size` members with repetition; above that without, and only for fewer than 10 samples; and all of them.
    Left out are those with the same mean as a smaller one: two times sample 3 is sample 3.
    """
    rows = []
    for size in range(1, max(batch_size, samples - 1 if samples < 10 else 0) + 1):
        for members in combinations_with_replacement(range(samples), size):
            counts = Counter(members)
            if math.gcd(*counts.values()) == 1 and (size <= batch_size or len(counts) == size):
                rows.append([counts[sample] for sample in range(samples)])
    return torch.tensor([*rows, [1] * samples], dtype=torch.float64)


@dataclass(frozen=True)
class Explanation:
    """What the steps of a path were.

    batches: for each step the numbers of its samples, in order; None where some step fits no batch.
    mistakes: which known mistakes all steps share; empty for plain SGD.
    misfit: the first step, counted from 0, that is no step of plain SGD; None where there is none.
    """

    batches: list[tuple[int, ...]] | None
    mistakes: list[str]
    misfit: int | None


def explain(x: Sequence[float], y: Sequence[float], path: torch.Tensor, lr: float, batch_size: int) -> Explanation:
    """Find for each step of `path` [T + 1, 2] the batch that gives it; failing that, allow for the known mistakes.

    Those are: the sum for the mean, or another divisor; the wrong sign; the step before added again (a gradient that
    was not zeroed). Needs few samples: up to 9, or a `batch_size` of up to 5.
    """
    path = path.double()
    choices = possible_batches(len(x), batch_size)
    held = choices.sum(1)
    divisors = {
        (): held,
        ("last-batch-divided-by-batch-size",): torch.full_like(held, batch_size),
        ("sum-not-mean",): torch.ones_like(held),
        ("divided-by-all",): torch.full_like(held, len(x)),
        ("factor-two",): 2 * held,
    }
    steps = (path[1:] - path[:-1])[:, None]
    before = torch.cat([torch.zeros(1, 1, 2, dtype=path.dtype), steps[:-1]])
    each = sample_gradients(x, y, path[:-1])
    scale = path[:-1].abs().amax(1) + lr * each.abs().amax((1, 2)) + before.abs().amax((1, 2))
    misfit = None
    for carried, sign, (keys, divisor) in product((False, True), (1, -1), divisors.items()):
        guess = -sign * lr * torch.einsum("kn,tnd->tkd", choices / divisor[:, None], each)
        miss = (guess - steps).abs().amax(2)
        if carried:
            miss = torch.minimum(miss, (guess + before - steps).abs().amax(2))
        best = miss.min(1)
        fits = best.values <= TOLERANCE * scale
        if bool(fits.all()):
            mistakes = ["gradient-carried-over"] * carried + ["wrong-sign"] * (sign < 0) + list(keys)
            used = choices[best.indices].int().tolist()
            return Explanation([tuple(_members(row)) for row in used], mistakes, misfit)
        if misfit is None:
            misfit = int(fits.int().argmin())
    return Explanation(None, [], misfit)


def _members(counts: Sequence[int]) -> list[int]:
    """Sample numbers from how often each is there: [0, 2, 1] -> [1, 1, 2]."""
    return [sample for sample, count in enumerate(counts) for _ in range(count)]


def same_path(rows: Sequence, others: Sequence) -> bool:
    """Whether two paths, lists of points (m, n), are the same but for rounding; None is not like any number."""
    return [len(row) for row in rows] == [len(row) for row in others] and all(
        a is not None and b is not None and math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for row, other in zip(rows, others, strict=True)
        for a, b in zip(row, other, strict=True)
    )


def judge_path(
    x: Sequence[float],
    y: Sequence[float],
    path: torch.Tensor,
    *,
    start: Sequence[float],
    lr: float,
    batch_size: int,
    epochs: int,
) -> tuple[list[str], dict]:
    """What is wrong with `path` [T + 1, 2] as a run of SGD over `epochs` epochs, each shuffled anew.

    Returns the names of the mistakes, none for a right path, and what is to be told of them: the point `first`, the
    number of rows that are `due`, the `step`, the `epoch` and the `sizes` of its batches, each where it matters.
    """
    samples, per_epoch = len(x), math.ceil(len(x) / batch_size)
    facts = {"first": tuple(float(f"{value:.5g}") for value in path[0].tolist()), "due": epochs * per_epoch + 1}
    if len(path) > 2 and bool((path[1:] == path[1]).all()):
        return ["rows-all-equal"], facts
    begin = torch.tensor([start], dtype=path.dtype)
    mistakes = []
    if bool(((path[0] - begin).abs() > TOLERANCE).any()):
        mistakes = ["start-missing" if len(path) == facts["due"] - 1 else "wrong-start"]
        path = torch.cat([begin, path]) if mistakes == ["start-missing"] else path
    elif len(path) == facts["due"] - 1:
        mistakes = ["last-row-missing"]
    steps = len(path) - 1
    dropped = samples % batch_size > 0 and steps == epochs * (samples // batch_size)
    if dropped:
        mistakes, per_epoch = [*mistakes, "last-batch-dropped"], samples // batch_size
    elif steps + ("last-row-missing" in mistakes) != epochs * per_epoch:
        return [*mistakes, "wrong-number-of-steps"], facts
    if steps == 0:
        return mistakes, facts
    told = explain(x, y, path, lr, batch_size)
    if told.batches is None:
        pairs = [list(column) for column in zip(*product(x, y), strict=True)]
        torn = batch_size == 1 and explain(*pairs, path, lr, 1).batches is not None
        return [*mistakes, "x-y-torn" if torn else "wrong-step"], facts | {"step": told.misfit}
    orders = [told.batches[first : first + per_epoch] for first in range(0, steps - per_epoch + 1, per_epoch)]
    more, facts_too = _judge_orders(orders, samples, batch_size, dropped)
    return mistakes + told.mistakes + more, facts | facts_too


def _judge_orders(orders: list[list[tuple[int, ...]]], samples: int, batch_size: int, dropped: bool) -> tuple:
    """What is wrong with the batches, given epoch by epoch: at most one name, and what is to be told of it."""
    everything = tuple(range(samples))
    if batch_size < samples and all(batch == everything for order in orders for batch in order):
        return ["whole-set-each-step"], {}
    sizes = [", ".join(str(len(batch)) for batch in order) for order in orders]
    facts = [{"epoch": epoch, "sizes": held} for epoch, held in enumerate(sizes)]
    for epoch, order in enumerate(orders):
        visited = sum(order, ())
        if len(set(visited)) < len(visited):
            return ["with-replacement"], facts[epoch]
        if len(visited) < samples and not dropped:
            return ["samples-missed"], facts[epoch]
    if batch_size >= samples:
        return [], {}
    if all(sum(order, ()) == everything[: len(sum(order, ()))] for order in orders):
        return ["not-shuffled"], {}
    different = len({tuple(order) for order in orders})
    if different == 1 or (batch_size == 1 and different < len(orders)):
        return ["same-order-every-epoch"], {}
    if batch_size > 1 and len({frozenset(order) for order in orders}) == 1:
        return ["batches-not-cut-anew"], {}
    for epoch, order in enumerate(orders):
        if any(len(batch) != batch_size for batch in order[:-1]):
            return ["wrong-batch-size"], facts[epoch]
    return [], {}
