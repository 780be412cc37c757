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
from itertools import combinations, combinations_with_replacement, product

import torch

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.orders import finding as of_orders

from .line_fit import TOLERANCE, mistake, sample_gradients

finding = Findings("""
rows-all-equal 4
From row 1 on, all rows are the same point. Does the path hold one tensor many times, which every step changes?

not-from-start 2
Row 0 is {first}; expected is `start` = {start}.

start-missing 1
Row 0 is {first}, the point after the first step; expected is `start` = {start}.

last-row-missing 1
The path has {rows} rows, one too few: it ends before the last step.

wrong-number-of-steps 3
With {n} samples, batch size {size} and {epochs} epochs, {expected} rows are expected. The path has {rows}.

rest-dropped 1.5
With {n} samples and batch size {size}, the samples that do not fill a whole batch are never used.

wrong-step 4
Step {step} changes (m, n) by {moved}. No batch of the samples does that: with all {n} samples in one batch, the step
would be {whole}. Is each gradient taken at the point where its step begins, and do m and n change together?

x-y-torn 3
The steps fit pairs of an x and a y that belong to different samples: x and y are shuffled separately.

last-batch-divided-by-batch-size 1.5
The gradient of a batch with fewer than {size} samples is divided by {size}, too. A mean is over the samples in the
batch.

divided-by-all 2
The sum over each batch is divided by all {n} samples, not by those in the batch.

whole-set-each-step 3
The batch size is {size}, but each step uses all {n} samples.

with-replacement 2
Epoch {epoch} uses a sample twice. An epoch visits each sample once.

samples-missed 2
Epoch {epoch} does not visit all {n} samples.

wrong-batch-size 1.5
Epoch {epoch} has batches of {sizes} samples; the batch size is {size}.

batches-not-cut-anew 1
Every epoch has the same batches, only in another order. What is shuffled: the samples, or batches that are cut already?

order-only-rolled 1.5
Each epoch repeats the order of epoch 0, only shifted. A new random order is expected in every epoch.

not-a-path 4
A tensor [steps + 1, 2] of points (m, n) is expected. You return {kind}{why}.

not-finite 4
A number in row {row} is not finite.

wrong-dtype 0.5
x has dtype {dtype}, but the path is {kind}.

not-detached 0.5
The path still requires grad, so it keeps the graphs of all its steps in memory.

not-reproducible 1
Two calls with seed {seed} give different paths.
""")
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

    Those are: the sum for the mean, or another divisor; half the gradient; the wrong sign; the step before added again
    (a gradient that was not zeroed). Needs few samples: up to 9, or a `batch_size` of up to 5.
    """
    path = path.double()
    choices = possible_batches(len(x), batch_size)
    held = choices.sum(1)
    divisors = {
        (): held,
        ("last-batch-divided-by-batch-size",): torch.full_like(held, batch_size),
        ("sum-not-mean",): torch.ones_like(held),
        ("divided-by-all",): torch.full_like(held, len(x)),
    }
    divisors |= {("factor-two", *keys): 2 * divisor for keys, divisor in divisors.items()}
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


def path_mistakes(case: dict, path: torch.Tensor) -> list[Finding]:
    """What is wrong with `path` [T + 1, 2] as a run of SGD over the case's ``epochs``, each shuffled anew.

    case: ``x``, ``y`` and ``start`` as `line_fit.draw_line_problem` has them, ``lr``, ``batch_size`` and ``epochs``.
    """
    x, y, batch_size, epochs = case["x"], case["y"], case["batch_size"], case["epochs"]
    samples, per_epoch = len(x), math.ceil(len(x) / batch_size)
    expected, first = epochs * per_epoch + 1, tuple(float(f"{value:.5g}") for value in path[0].tolist())
    about = {"n": samples, "size": batch_size, "rows": len(path), "epochs": epochs, "start": case["start"]}
    about |= {"first": first, "expected": expected}
    if len(path) > 2 and bool((path[1:] == path[1]).all()):
        return [finding("rows-all-equal")]
    begin, found, lacks_last = torch.tensor([case["start"]], dtype=path.dtype), [], False
    if bool(((path[0] - begin).abs() > TOLERANCE).any()):
        missing = len(path) == expected - 1
        found = [finding("start-missing" if missing else "not-from-start", **about)]
        path = torch.cat([begin, path]) if missing else path
    elif lacks_last := len(path) == expected - 1:
        found = [finding("last-row-missing", **about)]
    steps = len(path) - 1
    dropped = samples % batch_size > 0 and steps == epochs * (samples // batch_size)
    if dropped:
        found, per_epoch = [*found, finding("rest-dropped", **about)], samples // batch_size
    elif steps + lacks_last != epochs * per_epoch:
        return [*found, finding("wrong-number-of-steps", **about)]
    if steps == 0:
        return found
    explained = explain(x, y, path, case["lr"], batch_size)
    if explained.batches is None:
        pairs = [list(column) for column in zip(*product(x, y), strict=True)]
        torn = batch_size == 1 and explain(*pairs, path, case["lr"], 1).batches is not None
        return [*found, finding("x-y-torn") if torn else misfit(case, path, explained.misfit)]
    orders = [explained.batches[start : start + per_epoch] for start in range(0, steps - per_epoch + 1, per_epoch)]
    named = [finding(key, **about) if key in finding.known else mistake(key) for key in explained.mistakes]
    key, epoch = order_mistake(orders, samples, batch_size, dropped)
    if key in of_orders.known:
        alike = next((pair for pair in combinations(range(len(orders)), 2) if orders[pair[0]] == orders[pair[1]]), ())
        named.append(of_orders(key, epochs=" and ".join(map(str, alike))))
    elif key:
        sizes = ", ".join(str(len(batch)) for batch in orders[epoch])
        named.append(finding(key, epoch=epoch, sizes=sizes, **about))
    return found + named


def misfit(case: dict, path: torch.Tensor, step: int) -> Finding:
    """The finding for a step that no batch explains, beside the step that all samples together would give."""
    gradient = sample_gradients(case["x"], case["y"], path[step][None])[0].mean(0)
    steps = (path[step + 1] - path[step]).tolist(), (-case["lr"] * gradient).tolist()
    moved, whole = (tuple(float(f"{part:.3g}") for part in each) for each in steps)
    return finding("wrong-step", step=step, n=len(case["x"]), moved=moved, whole=whole)


def only_rolled(orders: list[list[tuple[int, ...]]], samples: int) -> bool:
    """Whether orders of single samples are all the first one shifted: in its places, or in its samples' numbers.

    With 12 samples, chance alone does this to fewer than one in 10**7 pairs of epochs.
    """
    first, *others = ([sample for batch in order for sample in batch] for order in orders)

    def shifted(order: list[int]) -> bool:
        places = order[order.index(first[0]) :] + order[: order.index(first[0])]
        return places == first or len({(new - old) % samples for new, old in zip(order, first, strict=True)}) == 1

    return bool(others) and all(map(shifted, others))


def order_mistake(
    orders: list[list[tuple[int, ...]]], samples: int, batch_size: int, dropped: bool
) -> tuple[str | None, int]:
    """What is wrong with the batches, given epoch by epoch: a key or None, and an epoch in which it is so."""
    everything = tuple(range(samples))
    if batch_size < samples and all(batch == everything for order in orders for batch in order):
        return "whole-set-each-step", 0
    for epoch, order in enumerate(orders):
        visited = sum(order, ())
        if len(set(visited)) < len(visited):
            return "with-replacement", epoch
        if len(visited) < samples and not dropped:
            return "samples-missed", epoch
    if batch_size >= samples:
        return None, 0
    if all(sum(order, ()) == everything[: len(sum(order, ()))] for order in orders):
        return "not-shuffled", 0
    different = len({tuple(order) for order in orders})
    if different > 1 and batch_size == 1 and only_rolled(orders, samples):
        return "order-only-rolled", 0
    if different == 1 or (batch_size == 1 and different < len(orders)):
        return "same-order-every-epoch", 0
    if batch_size > 1 and len({frozenset(order) for order in orders}) == 1:
        return "batches-not-cut-anew", 0
    uneven = [epoch for epoch, order in enumerate(orders) if any(len(batch) != batch_size for batch in order[:-1])]
    return ("wrong-batch-size", uneven[0]) if uneven else (None, 0)
