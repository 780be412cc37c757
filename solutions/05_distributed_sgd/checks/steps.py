"""The path of `distributed_path`, worked out again in one process from the samples that its ranks used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call

TOLERANCE = 1e-10  # relative to the largest number of the path
SINGLE = 1e-5  # what float32 leaves

finding = Findings("""
own-start 3
The ranks' paths begin at different points: rank 0 at {first}, rank {rank} at {other}. Each rank's `start` is different,
and rank 0's counts. How does it get to the others?

other-start 2
The path begins at {first}. Rank 0's `start` is {expected}.

paths-differ 3
The ranks begin at one point, and then their paths differ: after {step} steps rank 0 is at {first}, rank {rank} at
{other}. What is not the same in their steps?

last-bits-differ 1
The ranks' paths differ in their last digits. Do all ranks compute with the very same numbers?

path-length 3
The path has {actual} rows. With {steps} steps, {expected} are expected: the start, and a point after each step.

rate-one-step-on 2
The steps are as long as `rate(k + 1)` says, not `rate(k)`. The first step is step 0.

rate-of-the-epoch 2
The steps are as long as `rate` says for the number of the epoch. It asks for the number of the step, which goes on
counting from epoch to epoch.

rate-within-the-epoch 2
The steps are as long as `rate` says where steps are counted from 0 again in each epoch. The count goes on from epoch to
epoch.

rate-never-asked-again 2
All steps use `rate(0)`. The learning rate may be another one in each step.

rate-times-ranks 2
Each step is {size} times as long as it should be. `rate` already says how long: how many ranks there are is its own
affair.

rate-over-ranks 2
Each step is {size} times too short. `distributed_gradient` returns the gradient of the whole batch: nothing is left to
be divided.

uphill 2
Each step goes with the gradient, which points uphill.

path-in-single 1.5
The path is off by {off:.0e}: that is float32, in which 7 digits are left. Where does one get in?

other-path 4
With the batches that the ranks used, step {step} should lead from {here} to {expected}. Your path goes to {actual}.
""")


def rate_of(plan: dict) -> Callable[[int], float]:
    """The learning rate of a case, by step: it falls, by another factor in each step."""
    return lambda step: plan["rate"] / (1 + 0.13 * step)


def problem(plan: dict) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a call, as its ranks draw them."""
    draw = np.random.default_rng(plan["data"])
    return draw.uniform(-1.5, 2.5, plan["samples"]), draw.uniform(-1.5, 2.5, plan["samples"])


def replay(plan: dict, unions: list[list[int]], rate: Callable[[int], float], start: list[float]) -> np.ndarray:
    """The path [steps + 1, 2] of one process. unions: samples by step."""
    x, y = problem(plan)
    m, n = start
    path = [(m, n)]
    for step, union in enumerate(unions):
        error = 2 * (m * x[union] + n - y[union])
        dm, dn = ((error * x[union]).mean(), error.mean()) if union else (0.0, 0.0)
        m, n = m - rate(step) * dm, n - rate(step) * dn
        path.append((m, n))
    return np.array(path)


def path_mistakes(call: Call) -> list[Finding | Diagnosis]:
    """What is wrong with the paths of one call, given the samples that the ranks used."""
    plan, paths = call.plan, call.of("rows")
    unions = [[sample for own in step for sample in own] for step in zip(*call.of("shares"), strict=True)]
    if any(-1 in union for union in unions):
        return []
    steps = len(unions)
    if any(len(path) != steps + 1 for path in paths):
        actual = next(len(path) for path in paths if len(path) != steps + 1)
        return [finding("path-length", actual=actual, steps=steps, expected=steps + 1)]
    if found := unlike(paths):
        return found
    first, own = paths[0][0], plan["start"][0]
    if np.abs(np.array(first) - own).max() > SINGLE:
        return [finding("other-start", first=shown(first), expected=shown(own))]
    return [follows(plan, unions, np.array(paths[0]), call.size)]


def unlike(paths: list[list[list[float]]]) -> list[Finding]:
    """A finding for ranks whose paths are not the same."""
    for rank, path in enumerate(paths):
        if path == paths[0]:
            continue
        off = np.abs(np.array(path) - np.array(paths[0])).max(axis=1)
        if off.max() <= TOLERANCE * max(1.0, float(np.abs(paths[0]).max())):
            return [finding("last-bits-differ")]
        step = int((off > 0).argmax())
        about = {"rank": rank, "first": shown(paths[0][step]), "other": shown(path[step])}
        return [finding("paths-differ", step=step, **about) if step else finding("own-start", **about)]
    return []


def follows(plan: dict, unions: list[list[int]], path: np.ndarray, size: int) -> Diagnosis | Finding:
    """Whether each step of the path follows from its samples."""
    rate, per_epoch = rate_of(plan), max(1, len(unions) // plan["epochs"])
    rates = {
        "rate-one-step-on": lambda step: rate(step + 1),
        "rate-of-the-epoch": lambda step: rate(step // per_epoch),
        "rate-of-the-epoch/from one": lambda step: rate(step // per_epoch + 1),
        "rate-within-the-epoch": lambda step: rate(step % per_epoch),
        "rate-never-asked-again": lambda step: rate(0),
        "rate-times-ranks": lambda step: rate(step) * size,
        "rate-over-ranks": lambda step: rate(step) / size,
        "uphill": lambda step: -rate(step),
    }
    start = plan["start"][0]
    expected = replay(plan, unions, rate, start)
    off = float(np.abs(path - expected).max() / max(1.0, float(np.abs(expected).max())))
    if TOLERANCE < off < SINGLE:
        return finding("path-in-single", off=off)
    step = int((np.abs(path - expected) > SINGLE).any(axis=1).argmax())
    about = {"size": size, "step": step - 1, "here": shown(path[step - 1])}
    about |= {"expected": shown(expected[step]), "actual": shown(path[step])}
    candidates = {key: replay(plan, unions, each, start) for key, each in rates.items()}
    return diagnose("path", path, expected, candidates, partial(finding, **about), "other-path", alike)


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two paths agree but for rounding."""
    return bool(np.abs(one - other).max() <= TOLERANCE * max(1.0, float(np.abs(other).max())))


def shown(point: list[float] | np.ndarray) -> str:
    """A point as text."""
    return f"({point[0]:.6g}, {point[1]:.6g})"
