"""The check of `fit_scaling`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.optimize import nnls

from autograde.contract.calls import described, with_article
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

ABOVE = 1e-6  # relative: how much larger than the least a sum of squared errors may be
SMALL = 1e-12  # of the squares of all times: a sum of squared errors that is nothing but rounding
NEGATIVE = 1e-9  # relative to the times: a part that is not negative but for rounding

finding = Findings("""
not-three-floats 3
Your function returns {kind}. Three floats are expected: T_par, T_seq and T_comm.

lists-changed 1
After the call, the lists are not what they were before. Whoever called your function still needs them.

negative-part 2
{name} is {value:.4g} s, and a time is never negative. The free fit has the least errors of all, but no meaning here.

clipped-after-the-fit 2
The parts are those of the free fit, in which one is negative, with zero in its place. The other two were fitted beside
the negative one: with zero there, others fit better.

n-for-n-minus-1 2
The parts are those of T_comm N in the place of T_comm (N - 1). What should a single rank communicate?

sorted-apart 2
The parts fit ranks and seconds that were sorted, each list by itself. In any order, a time belongs to the N at the same
place.

numbered 2
The parts fit 1, 2, 3 and so on in the place of `ranks`. Where an N is left out or comes twice, that is another number.

other-order 2
The three numbers are right, in another order. T_par, T_seq, T_comm are expected.

speed-up-fitted 2
The parts have the least errors in the *speed-up*, T(1) / T(N). Errors in seconds are to be made small.

relative-errors 1.5
The parts have the least *relative* errors, or those of one time for each N. All measurements count alike, in seconds.

means-fitted 1.5
The parts fit the mean time of each N. Where an N was measured more often, each of its measurements counts.

three-points-only 2
The parts fit three of the {count} measurements, and not the others. With more than three, no line goes through all.

wrong-fit 3
For {ranks} ranks and {seconds} s, your parts are {actual}; the sum of their squared errors is {errors:.4g}. The least
that parts without a negative one can have is {least:.4g}.
""")

NAMES = ("T_par", "T_seq", "T_comm")


def columns_of(ranks: Sequence[int], last: int = 1) -> np.ndarray:
    """What T_par, T_seq and T_comm are multiplied by, [measurements, 3]; the last by N - `last`."""
    n = np.array(ranks, dtype=float)
    return np.stack([1 / n, np.ones_like(n), n - last], axis=1)


def squared_errors(ranks: Sequence[int], seconds: Sequence[float], parts: Sequence[float]) -> float:
    """The sum that is to be small."""
    return float(((columns_of(ranks) @ np.array(parts) - np.array(seconds)) ** 2).sum())


def least(columns: np.ndarray, seconds: Sequence[float]) -> list[float]:
    """The parts, none negative, with the least sum of squared errors. columns: what they are multiplied by,
    [measurements, 3]."""
    return nnls(columns, np.array(seconds))[0].tolist()


def free(ranks: Sequence[int], seconds: Sequence[float]) -> list[float]:
    """The parts with the least sum of squared errors, whatever their signs."""
    return np.linalg.lstsq(columns_of(ranks), np.array(seconds), rcond=None)[0].tolist()


def mistakes(ranks: list[int], seconds: list[float]) -> dict[str, list[float]]:
    """What known mistakes give."""
    par, seq, comm = least(columns_of(ranks), seconds)
    known = [sum(time for own, time in zip(ranks, seconds, strict=True) if own == n) / ranks.count(n) for n in ranks]
    sizes = sorted({*ranks})
    means = [known[ranks.index(n)] for n in sizes]
    found = {
        "clipped-after-the-fit": [max(0.0, part) for part in free(ranks, seconds)],
        "clipped-after-the-fit/size": [abs(part) for part in free(ranks, seconds)],
        "sorted-apart": least(columns_of(sorted(ranks)), sorted(seconds)),
        "sorted-apart/ranks": least(columns_of(sorted(ranks)), seconds),
        "sorted-apart/seconds": least(columns_of(ranks), sorted(seconds)),
        "sorted-apart/seconds down": least(columns_of(ranks), sorted(seconds, reverse=True)),
        "numbered": least(columns_of(range(1, len(ranks) + 1)), seconds),
        "n-for-n-minus-1": least(columns_of(ranks, last=0), seconds),
        "relative-errors": least(columns_of(ranks) / np.array(seconds)[:, None], np.ones(len(seconds))),
        "means-fitted": least(columns_of(sizes), means),
        "speed-up-fitted": least(columns_of(ranks), [seconds[ranks.index(sizes[0])] / time for time in seconds]),
    }
    if len({*ranks[:3]}) == 3:
        found["three-points-only"] = least(columns_of(ranks[:3]), seconds[:3])
    orders = ([par, comm, seq], [seq, par, comm], [comm, seq, par], [seq, comm, par], [comm, par, seq])
    return found | {f"other-order/{number}": order for number, order in enumerate(orders)}


class FitScaling(CallCheck, JudgedCalls):
    """Several sets of times; what counts is the sum of squared errors, however it was made small."""

    todo, points = "fit_scaling", 3
    consolidation = (
        "A fit knows only what its model can say: times on 1 to N ranks cannot tell the bytes of an all-reduce from "
        "work that nobody shares. Bounds that follow from the meaning belong in the fit, not after it."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Times with some noise: all parts there; the free fit negative; N several times; in any order."""
        calls = [
            draw_times(rng, [1, 2, 3, 4, 8], 0),
            draw_times(rng, [1, 2, 4, 8], 1),
            draw_times(rng, [1, 2, 2, 4, 6], 0),
        ]
        ### BEGIN HIDDEN CASES
        calls += [draw_times(rng, [2, 4, 8, 16, 64], 1), draw_times(rng, [1, 1, 1, 3, 4, 6], 0)]
        calls += [draw_times(rng, [1, 2, 3], 2)]
        ### END HIDDEN CASES
        return [{"size": 1, "calls": calls}]

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The three numbers."""
        ranks, seconds = [*call["ranks"]], [*call["seconds"]]
        returned = function(ranks, seconds)
        changed = ranks != call["ranks"] or seconds != call["seconds"]
        try:
            parts = [described(each) for each in returned]
            kind = f"{type(returned).__name__} of {len(parts)}"
        except TypeError:
            parts, kind = [], f"{type(returned).__name__}"
        return {"parts": parts[:10], "kind": kind, "altered": changed}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The numbers, what they were in, and whether the lists are as they were."""
        return {"parts": array(described_value(), most=10), "kind": string(), "altered": boolean()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The sum of squared errors, beside the least."""
        [shown], ranks, seconds = call.shown, call.plan["ranks"], call.plan["seconds"]
        actual = [each["value"] for each in shown["parts"]]
        if len(actual) != 3 or None in actual:
            return [finding("not-three-floats", kind=with_article(shown["kind"]))]
        found = [finding("lists-changed")] if shown["altered"] else []
        scale = max(seconds)
        if below := [pair for pair in zip(NAMES, actual, strict=True) if pair[1] < -NEGATIVE * scale]:
            return [*found, finding("negative-part", name=below[0][0], value=below[0][1])]
        expected = least(columns_of(ranks), seconds)
        lowest = squared_errors(ranks, seconds, expected)
        limit = lowest * (1 + ABOVE) + SMALL * scale**2

        def equal(given: list[float], other: list[float]) -> bool:
            if other is expected:
                return squared_errors(ranks, seconds, given) <= limit
            return bool(np.allclose(given, other, rtol=1e-4, atol=1e-6 * scale))

        about = {"count": len(ranks), "ranks": ranks, "seconds": [round(each, 4) for each in seconds], "least": lowest}
        about |= {"actual": [float(f"{each:.4g}") for each in actual], "errors": squared_errors(ranks, seconds, actual)}
        made = partial(finding, **about)
        return [*found, diagnose("fit", actual, expected, mistakes(ranks, seconds), made, "wrong-fit", equal)]


def draw_times(rng: random.Random, ranks: list[int], kind: int) -> dict:
    """Times on these ranks, in any order, with noise. kind: 0, all parts are there; 1, the free fit has a negative
    part; 2, no noise."""
    while True:
        par, seq, comm = rng.uniform(0.5, 4), rng.uniform(0.05, 0.3), rng.uniform(0.02, 0.05) * (kind != 1)
        own, spread = rng.sample(ranks, len(ranks)), (0.03, 0.1, 0.0)[kind]
        seconds = [(par / n + seq + comm * (n - 1)) * (1 + rng.uniform(-spread, spread)) for n in own]
        if kind == 2 or told_apart(own, seconds, kind):
            return {"ranks": own, "seconds": seconds}


def told_apart(ranks: list[int], seconds: list[float], kind: int) -> bool:
    """Whether the free fit has a negative part, for kind 1, and one that matters; none, for any other."""
    parts, sizes = free(ranks, seconds), sorted({*ranks})
    lowest = squared_errors(ranks, seconds, least(columns_of(ranks), seconds))
    given = mistakes(ranks, seconds)
    others = [given["relative-errors"], *([given["means-fitted"]] if len(sizes) < len(ranks) else [])]
    if any(squared_errors(ranks, seconds, each) < 1.001 * lowest for each in others) and len(ranks) > 3:
        return False
    if kind != 1:
        return min(parts) > 1e-3
    clipped = squared_errors(ranks, seconds, [max(0.0, part) for part in parts])
    return min(parts) < -1e-4 and clipped > 1.01 * lowest


CHECK = FitScaling()
