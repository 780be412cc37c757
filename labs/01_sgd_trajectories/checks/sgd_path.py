"""The check of `sgd_path`: few samples, so that each step tells which of them it used."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    Mistakes,
    Rounding,
    Words,
    Wrong,
    argument_unchanged,
    each_sample_once,
    new_orders,
    once,
    orders_by_seed,
)

from ..probes import sgd_path
from ..probes.sgd_path import Path
from ..shared.line import sample_gradients
from .mse_gradient import MISTAKES, drawn_line
from .steps import TOLERANCE, Steps, explained

NEAR = Rounding(TOLERANCE)
CRITERIA = ("rows", "steps", "batches", "orders", "form")

words = Words("""
not-a-path: A tensor [steps + 1, 2] of points (m, n) is expected. You return {kind}.

not-finite: A number in row {row} is not finite.

rows-all-equal: From row 1 on, all rows are the same point. Does the path hold one tensor many times, which every step
changes?

not-from-start: Row 0 is {first}; expected is `start` = {start}.

start-missing: Row 0 is {first}, the point after the first step; expected is `start` = {start}.

last-row-missing: The path has {rows:row}, one too few: it ends before the last step.

wrong-number-of-steps: With {n:sample}, batch size {size} and {epochs:epoch}, {expected:row} are expected. The path has
{rows}.

wrong-step: Step {step} changes (m, n) by {moved}. No batch of the samples does that: with all {n} samples in one batch,
the step would be {whole}. Is each gradient taken at the point where its step begins, and do m and n change together?

last-batch-divided-by-batch-size: The gradient of a batch with fewer than {size} samples is divided by {size}, too. A
mean is over the samples in the batch.

divided-by-all: The sum over each batch is divided by all {n} samples, not by those in the batch.

gradient-carried-over: The gradient of the step before is still part of each gradient: `backward` adds to what is there.
When does your code start from zero?

whole-set-each-step: The batch size is {size}, but each step uses all {n} samples.

wrong-batch-size: Epoch {epoch} has batches of {sizes} samples; the batch size is {size}.

wrong-dtype: The dtype of x is {dtype}, but the path is {kind}.

not-detached: The path still requires grad, so it keeps the graphs of all its steps in memory.
""")


def in_words(point: Any, digits: int = 5) -> tuple[float, ...]:
    """A point with a few digits."""
    return tuple(float(f"{value:.{digits}g}") for value in point)


def steps_of(case: dict, rows: list) -> Steps:
    """What the steps of a path are."""
    return explained(tuple(case["x"]), tuple(case["y"]), tuple(map(tuple, rows)), case["lr"], case["batch_size"])


def faults(case: dict, path: Path) -> dict[str, Wrong | None]:
    """By criterion, what is wrong with one path; the same for several where they cannot be told apart."""
    n, size, epochs, rows = len(case["x"]), case["batch_size"], case["epochs"], path.rows
    full, expected = epochs * (n // size) + 1, epochs * -(-n // size) + 1  # a smaller batch that is left out, or not
    if not rows:
        return dict.fromkeys(CRITERIA, words("not-a-path", kind=path.kind))
    found = {"form": words("not-detached") if path.attached else None}
    if case["dtype"] not in path.kind:
        found["form"] = words("wrong-dtype", dtype=case["dtype"], kind=path.kind)
    if bad := [number for number, row in enumerate(rows) if None in row]:
        return dict.fromkeys(CRITERIA, words("not-finite", row=bad[0])) | found
    about = {"n": n, "size": size, "epochs": epochs, "rows": len(rows), "expected": expected, "start": case["start"]}
    about |= {"first": in_words(rows[0])}
    from_start, short, wrong = NEAR(rows[0], case["start"]), len(rows) == expected - 1, None
    if len(rows) > 2 and all(row == rows[1] for row in rows[1:]):
        return dict.fromkeys(CRITERIA, words("rows-all-equal")) | found
    if len(rows) not in (expected, expected - 1, full):
        wrong = found["rows"] = words("wrong-number-of-steps", **about)
    elif short or not from_start:
        key = "not-from-start" if not short else "last-row-missing" if from_start else "start-missing"
        found["rows"] = words(key, **about)
    points = [case["start"], *rows] if short and not from_start else rows
    batches, mistakes, misfit = steps_of(case, points)
    if batches is None:
        return found | dict.fromkeys(CRITERIA[1:4], wrong or no_step(case, points, misfit))
    if mistakes:
        key = mistakes[0]
        found["steps"] = (words if key in words.messages else MISTAKES.words)(key, **about)
    if wrong:
        return found | {"batches": wrong, "orders": wrong}
    per_epoch = n // size if len(batches) == full - 1 else -(-n // size)
    ends = range(per_epoch, len(batches) + 1, per_epoch) if per_epoch else [0]
    orders = [batches[end - per_epoch : end] for end in ends]
    if size < n and batches and all(batch == [*range(n)] for batch in batches):
        return found | dict.fromkeys(("batches", "orders"), words("whole-set-each-step", **about))
    found["orders"] = new_orders(orders) if size < n else None
    if wrong := each_sample_once(orders, n):
        return found | {"batches": wrong}
    uneven = [number for number, order in enumerate(orders) if any(len(batch) != size for batch in order[:-1])]
    if uneven and not (found["orders"] and found["orders"].key == "batches-not-cut-anew"):
        sizes = [len(batch) for batch in orders[uneven[0]]]
        found["batches"] = words("wrong-batch-size", epoch=uneven[0], sizes=sizes, **about)
    return found


def no_step(case: dict, rows: list, number: int) -> Wrong:
    """The words for a step that no batch explains, beside the one that all samples together would give."""
    gradient = sample_gradients(case["x"], case["y"], [rows[number]])[0].mean(0)
    moved = [after - before for before, after in zip(rows[number], rows[number + 1], strict=True)]
    whole = in_words(-case["lr"] * gradient, 3)
    return words("wrong-step", step=number, n=len(case["x"]), moved=in_words(moved, 3), whole=whole)


def of_run(call: Call, run: list[Path]) -> dict[str, Wrong]:
    """By criterion, the first thing that is wrong with paths of the same seed twice, and of another one."""
    case, found = call.arguments, {}
    for path in run:
        found = {name: wrong for name, wrong in faults(case, path).items() if wrong} | found
    if wrong := argument_unchanged(replace(call, changed=[path.changed for path in run])):
        found["form"] = wrong
    (first, again, other), (seed, _, another) = (path.rows for path in run), case["seeds"]
    if "orders" not in found and case["batch_size"] < len(case["x"]):
        wrong = orders_by_seed(NEAR(again, first), seed, seed) or orders_by_seed(NEAR(other, first), seed, another)
        found |= {"orders": wrong} if wrong else {}
    return found


@once
def best(call: Call) -> dict[str, Wrong]:
    """What is wrong where `mse_gradient` returns numbers of the kind with which most criteria hold."""
    return min((of_run(call, run) for run in call.seen[0].runs), key=len)


def torn(call: Call) -> bool | None:
    """Whether steps fit pairs of an x and a y of different samples; of larger batches than one nobody can tell."""
    wrong = best(call).get("steps")
    if wrong is None or wrong.key != "wrong-step":
        return False
    if call.arguments["batch_size"] > 1:
        return None
    x, y = zip(*product(call.arguments["x"], call.arguments["y"]), strict=True)
    return steps_of({**call.arguments, "x": x, "y": y}, call.seen[0].runs[0][0].rows)[0] is not None


TORN = Mistakes(
    """
    x-y-torn: The steps fit pairs of an x and a y that belong to different samples: x and y are shuffled separately.
    """,
    x_y_torn=torn,
)


def criterion(name: str, points: float, says: str, *mistakes: Mistakes, after: tuple[str, ...] = ()) -> Criterion:
    """The criterion of this name."""
    return Criterion(name, points, says, lambda call: best(call).get(name), *mistakes, after=after)


class SgdPath(CallCheck):
    """Paths on few samples; what counts is which samples a step used, and not how they were shuffled."""

    todo, probe = "sgd_path", sgd_path.PROBE
    inputs = ("batch_size", "epochs")
    consolidation = (
        "Every epoch visits each sample once, in a new order that follows from the seed. The run is random, and can "
        "be repeated to the last digit all the same."
    )
    criteria = (
        criterion("rows", 0.5, "row 0 is `start`, row k the point after k steps"),
        criterion("steps", 1, "each step is minus `lr` times the gradient of the mean loss over its batch", TORN),
        criterion(
            "batches",
            1,
            "each epoch visits each sample once, in batches of `batch_size`; samples left over form one more, smaller "
            "batch",
            after=("steps",),
        ),
        criterion(
            "orders",
            1,
            "each epoch has a new random order. Same seed, same path; another seed, other batches",
            after=("steps",),
        ),
        criterion("form", 0.5, "x and y stay as they are; the path has the dtype of x and no autograd history"),
    )

    def fits(self, case: dict, arguments: dict, seen: sgd_path.Seen) -> bool:
        """A path for each seed, in one run at least."""
        return len(seen.runs) > 0 and all(len(run) == len(arguments["seeds"]) for run in seen.runs)

    def cases(self, rng: random.Random) -> list[dict]:
        """Uneven batches; single samples; one batch larger than the set; both precisions; seed 0 and others."""

        def call(samples: int, batch_size: int, epochs: int, dtype: str = "float64", seed: int | None = None) -> dict:
            drawn, other = rng.sample(range(1, 100_000), 2)
            seed = drawn if seed is None else seed
            about = {"batch_size": batch_size, "epochs": epochs, "lr": rng.choice((0.04, 0.05, 0.07))}
            return drawn_line(rng, samples, dtype) | about | {"seeds": [seed, seed, other]}

        calls = [call(9, 4, 5, seed=0), call(12, 1, 4), call(5, 8, 3, "float32"), call(12, 5, 4, "float32")]
        return [{"calls": [*calls, call(9, 3, 7, seed=0), call(13, 1, 4, "float32")]}]


CHECK = SgdPath()
