"""The check of `distributed_path`."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, first_of, of_record
from autograde.rubric.judges.conduct import argument_unchanged, nothing_starts_or_ends
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Words, Wrong

from ..probes import distributed_path
from ..shared.samples import rate_of, samples
from .batches import asked_twice, never_asked, new_orders, shared_batches, unions_of

NEAR, SINGLE = Rounding(1e-10), Rounding(1e-5)
Path = list[list[float]]

words = Words("""
no-path: Rank {rank} returns {kind}. A float64 tensor of shape [steps + 1, 2] is expected, on every rank.

path-not-finite: Row {row} of the path is not a finite number. The gradients that your function was given are all
finite.

path-length: The path has {actual:row}. With {steps:step}, {expected} are expected: the start, and a point after each
step.

own-start: The ranks' paths begin at different points: rank 0 at {first}, rank {rank} at {other}. Each rank's `start` is
different, and rank 0's counts. How does it get to the others?

paths-differ: The ranks begin at one point, and then their paths differ: after {step:step} rank 0 is at {first}, rank
{rank} at {other}. What is not the same in their steps?

last-bits-differ: The ranks' paths differ in their last digits. Do all ranks compute with the very same numbers?

rows-alike: All rows of the path are one point, {first}, where each step has a row of its own. Is it one array or list
that changes after it was appended?

other-start: The path begins at {first}. Rank 0's `start` is {other}.

path-in-single: The path is off by {off:.0e}: that is float32, in which 7 digits are left. Where does one get in?

other-path: With the batches that the ranks used, step {step} should lead from {here} to {expected}. Your path goes to
{actual}.

path-not-float64: Rank {rank} returns {kind}, where a tensor of float64 is expected. Which dtype has a tensor that is
made of a list of floats?

history-kept: The path still has its autograd history (`requires_grad`). It is a record of points, from which nothing is
derived.

gradient-asked-twice: In {steps:step}, your function calls `distributed_gradient` {n:time}, twice in each step. One call
returns both numbers, dm and dn, for the point at which the step begins.

more-than-broadcasts: Your function itself calls {ops}, besides `distributed_gradient`. What do the ranks have to agree
on that they do not know already?

broadcast-every-step: Rank {rank} broadcasts after the first step. If the ranks start at the same point and take the
same steps, where are they then?
""")


def replay(call: Call, rate: Callable[[int], float]) -> Path:
    """The path [steps + 1, 2] of one process that uses the batches which the ranks used."""
    x, y = samples(call.arguments)
    m, n = call.arguments["start"][0]
    path = [[m, n]]
    for step, union in enumerate(unions_of(call)):
        error = 2 * (m * x[union] + n - y[union])
        dm, dn = ((error * x[union]).mean(), error.mean()) if union else (0.0, 0.0)
        m, n = float(m - rate(step) * dm), float(n - rate(step) * dn)
        path.append([m, n])
    return path


def known_mistakes(call: Call) -> dict[str, tuple]:
    """By key, the paths of steps of another length."""
    rate, per_epoch, size = rate_of(call.arguments), max(1, len(unions_of(call)) // call.arguments["epochs"]), call.size
    rates: dict[str, tuple[Callable[[int], float], ...]] = {
        "rate-one-step-on": (lambda step: rate(step + 1),),
        "rate-of-the-epoch": (lambda step: rate(step // per_epoch), lambda step: rate(step // per_epoch + 1)),
        "rate-within-the-epoch": (lambda step: rate(step % per_epoch),),
        "rate-never-asked-again": (lambda step: rate(0),),
        "rate-times-ranks": (lambda step: rate(step) * size,),
        "rate-over-ranks": (lambda step: rate(step) / size,),
        "uphill": (lambda step: -rate(step),),
    }
    return {key: tuple(replay(call, each) for each in forms) for key, forms in rates.items()}


MISTAKES = MistakesGiving(
    """
    rate-one-step-on: The steps are as long as `rate(k + 1)` says, not `rate(k)`. The first step is step 0.

    rate-of-the-epoch: The steps are as long as `rate` says for the number of the epoch. It asks for the number of the
    step, which goes on counting from epoch to epoch.

    rate-within-the-epoch: The steps are as long as `rate` says where steps are counted from 0 again in each epoch. The
    count goes on from epoch to epoch.

    rate-never-asked-again: All steps use `rate(0)`. The learning rate may be another one in each step.

    rate-times-ranks: Each step is {size} times as long as it should be. `rate` already says how long: how many ranks
    there are is its own affair.

    rate-over-ranks: Each step is {size} times too short. `distributed_gradient` returns the gradient of the whole
    batch: nothing is left to be divided.

    uphill: Each step goes with the gradient, which points uphill.
    """,
    known_mistakes,
)


class PathOfOneProcess:
    """Judge of the paths, given the samples that the ranks used."""

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        unions = unions_of(call)
        steps = len(unions)
        if wrong := never_asked(call):
            return wrong
        for rank, seen in enumerate(call.seen):
            if not seen.rows:
                return words("no-path", rank=rank, kind=seen.kind)
            if bad := [number for number, row in enumerate(seen.rows) if None in row]:
                return words("path-not-finite", row=bad[0])
            if len(seen.rows) != steps + 1:
                return words("path-length", actual=len(seen.rows), steps=steps, expected=steps + 1)
        if any(-1 in union for union in unions):
            return None
        return self.unlike(call) or self.dtype(call) or self.other(call)

    def parting(self, call: Call) -> Wrong | None:
        """What is wrong if the ranks' paths part; else their numbers may be any."""
        rows = call.of("rows")
        whole = all(len(path) == len(rows[0]) and None not in [*chain(*path)] for path in rows)
        return self.unlike(call) if whole and rows[0] else self(call)

    def unlike(self, call: Call) -> Wrong | None:
        """What is wrong if the ranks' paths are not the same, bit for bit, or begin elsewhere."""
        paths, start = call.of("rows"), tuple(call.arguments["start"][0])
        for rank, path in enumerate(paths):
            if path != paths[0] and all(map(NEAR, map(list, path), map(list, paths[0]))):
                return words("last-bits-differ")
            if path != paths[0]:
                step = next(step for step, row in enumerate(path) if row != paths[0][step])
                about = {"first": in_words(paths[0][step]), "other": in_words(path[step]), "rank": rank, "step": step}
                return words("paths-differ" if step else "own-start", **about)
        if len(paths[0]) > 1 and len({*paths[0]}) == 1:
            return words("rows-alike", first=in_words(paths[0][0]))
        if not SINGLE([*paths[0][0]], [*start]):
            return words("other-start", first=in_words(paths[0][0]), other=in_words(start))
        return None

    def dtype(self, call: Call) -> Wrong | None:
        """What is wrong if a path is not of float64."""
        others = [(rank, seen.kind) for rank, seen in enumerate(call.seen) if "float64" not in seen.kind]
        return words("path-not-float64", rank=others[0][0], kind=others[0][1]) if others else None

    def other(self, call: Call) -> Wrong | None:
        """What is wrong if rank 0's path is not the one that follows from its batches."""
        path, expected = [[*row] for row in call.seen[0].rows], replay(call, rate_of(call.arguments))
        if NEAR(path, expected):
            return words("history-kept") if any(call.of("attached")) else None
        if SINGLE(path, expected):
            return words("path-in-single", off=np.abs(np.array(path) - expected).max())
        step = next(step for step, row in enumerate(path) if not SINGLE(row, expected[step]))
        points = {"here": path[step - 1], "expected": expected[step], "actual": path[step]}
        return words(
            "other-path", compared=True, step=step - 1, **{name: in_words(point) for name, point in points.items()}
        )

    def gives(self, call: Call, value: Path) -> bool:
        """Whether this is rank 0's path."""
        return NEAR([[*row] for row in call.seen[0].rows], value)


def in_words(point: tuple | list) -> str:
    """A point as text."""
    return f"({point[0]:.6g}, {point[1]:.6g})"


@of_record
def communication(call: Call) -> Wrong | None:
    """One gradient a step; besides, broadcasts alone, and these before the first step."""
    n = len(call.seen[0].shares)
    if asked_twice(call):
        return words("gradient-asked-twice", n=n, steps=n // 2)
    for rank, log in enumerate(call.events):
        gradients = [event for event in log if event["library"] == "mpi4py" and event["op"] == "allgather"][:n]
        others = [event for event in log if event not in gradients]
        if ops := [f"{event['library']}'s {event['op']}" for event in others if event["kind"] != "broadcast"]:
            return words("more-than-broadcasts", ops=sorted({*ops}))
        if gradients and any(event["start"] > gradients[0]["start"] for event in others):
            return words("broadcast-every-step", rank=rank)
    return None


def empty_shares(arguments: dict) -> bool:
    """Whether a batch has fewer samples than there are ranks."""
    n, most = arguments["samples"], arguments["batch_size"]
    return min(n, most, n % most or most) < len(arguments["start"])


def full_shares(arguments: dict) -> bool:
    """Whether each batch has a sample for each rank."""
    return not empty_shares(arguments)


PATH = PathOfOneProcess()


class DistributedPath(CallCheck):
    """What ranks give to `distributed_gradient` says which samples they used; the path must follow from them."""

    todo, probe = "distributed_path", distributed_path.PROBE
    inputs = ("samples", "batch_size", "epochs")
    repeats = False  # the seed is the student's, and calls with another one are among the cases
    consolidation = (
        "Ranks that start alike and average their gradients stay alike, without sending a single parameter again: "
        "together they are one process with the whole batch."
    )
    criteria = (
        Criterion(
            "shares",
            0.75,
            "the shares of a batch differ by one at most, so that all ranks have as much to do",
            shared_batches,
            on=full_shares,
        ),
        Criterion(
            "orders",
            1.25,
            "each epoch visits each sample once, in a new random order that all ranks share",
            new_orders,
            on=full_shares,
            after=("shares",),
        ),
        Criterion("path", 1, "row 0 is the start, row k the point after k steps", PATH, MISTAKES, on=full_shares),
        Criterion(
            "calls",
            0.5,
            "on each rank, x and y stay as they are; besides the gradients there are only broadcasts, before "
            "the first step",
            first_of(communication, argument_unchanged, nothing_starts_or_ends),
            on=full_shares,
        ),
        Criterion(
            "empty-shares",
            0.5,
            "it also works where shares are empty",
            first_of(shared_batches, new_orders, PATH.parting),
            on=empty_shares,
            after=("shares", "orders", "path"),
        ),
    )

    def fits(self, case: dict, arguments: dict, seen: Any) -> bool:
        """Samples have numbers from 0 on, or -1."""
        return all(-1 <= sample < arguments["samples"] for share in seen.shares for sample in share)

    def cases(self, rng: random.Random) -> list[dict]:
        """Batches that divide evenly and not, and with more samples than there are; then with fewer than ranks."""

        def case(size: int, *described: tuple[int, int, int]) -> dict:
            made = []
            for n, batch_size, epochs in described:
                start = [[rng.uniform(-2, 2), rng.uniform(-2, 2)] for _ in range(size)]
                about = {"samples": n, "batch_size": batch_size, "epochs": epochs, "start": start}
                about |= {"data": rng.getrandbits(32), "rate": rng.uniform(0.03, 0.06), "local_size": 2}
                seed = rng.randrange(1, 10**6)
                made.append(about | {"seed": seed, "previous_seed": None})
                if len(made) == 1:
                    made += [about | {"seed": each, "previous_seed": seed} for each in (seed, seed + 1)]
            return {"size": size, "calls": made, "late": rng.randrange(size)}

        cases = [
            case(2, (9, 3, 3)),
            case(4, (22, 6, 3), (7, 20, 2)),
            case(3, (11, 4, 3), (8, 20, 2)),
            case(1, (9, 4, 2)),
        ]
        return [*cases, case(4, (18, 4, 3), (13, 5, 2)), case(3, (10, 2, 2), (2, 5, 1))]


CHECK = DistributedPath()
