"""The check of `costs`."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import log2
from typing import Any

from autograde.contract.calls import described, type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, described_value, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

ONE, TREE, BOTH, RING = KEYS = (
    "broadcast, one by one",
    "broadcast, tree",
    "all-reduce, tree",
    "all-reduce, ring",
)

finding = Findings("""
not-the-four-costs 2
Your function returns {kind}. A dict with the keys {keys} is expected.

cost-is-no-number 1
"{name}" is {kind}. A number is expected.

rounds-not-rounded 1
"{name}": with {size} ranks you take log2({size}) rounds, and that is no whole number. How many rounds does a tree of
{size} ranks take?

whole-array-in-the-ring 1
"{name}": in each round of the ring, one chunk is sent. You count the whole array.

one-latency 1
"{name}": you pay alpha once. Each round is a message of its own, and costs alpha again.

a-step-too-many-in-the-ring 1
"{name}": you count {size} rounds a turn on {size} ranks. How many neighbours does a chunk have to reach until it has
been everywhere?

latency-divided 1
"{name}": you divide the time of a whole message by {size}. A chunk has fewer bytes, but its message begins like any
other.

half-an-allreduce 1
"{name}": you count one way only. After a reduction one rank has the sum, or each rank has a chunk of it. And then?

everybody-served 1
"{name}": you count {size} messages for {size} ranks. Does the root need one?

not-free-alone 0.5
"{name}": on a single rank nothing has to be sent, so it takes 0 seconds. You return {actual:.6g}.

other-cost 1
"{name}": with {size} ranks, {nbytes} bytes, alpha = {alpha:g} and beta = {beta:g} you return {actual:.6g}, where
{expected:.6g} is expected. How many rounds are there, and how many bytes has a message?
""")


def expected_costs(size: int, nbytes: int, alpha: float, beta: float) -> dict[str, float]:
    """Seconds by key."""
    whole, chunk, levels = alpha + beta * nbytes, alpha + beta * nbytes / size, (size - 1).bit_length()
    return {ONE: (size - 1) * whole, TREE: levels * whole, BOTH: 2 * levels * whole, RING: 2 * (size - 1) * chunk}


def mistakes(size: int, nbytes: int, alpha: float, beta: float) -> dict[str, dict[str, float]]:
    """What known mistakes give, by key."""
    whole, chunk, levels = alpha + beta * nbytes, alpha + beta * nbytes / size, (size - 1).bit_length()
    sent = 2 * (size - 1) * nbytes / size * beta
    bytes_, lower = beta * nbytes, size.bit_length() - 1
    return {
        ONE: {"everybody-served": size * whole, "one-latency": (size - 1) * bytes_ + alpha},
        TREE: {
            "one-latency": levels * bytes_ + alpha,
            "rounds-not-rounded": log2(size) * whole,
            "rounds-not-rounded/down": lower * whole,
        },
        BOTH: {
            "half-an-allreduce": levels * whole,
            "one-latency": 2 * levels * bytes_ + alpha,
            "one-latency/each way": 2 * (levels * bytes_ + alpha),
            "rounds-not-rounded": 2 * log2(size) * whole,
            "rounds-not-rounded/down": 2 * lower * whole,
        },
        RING: {
            "whole-array-in-the-ring": 2 * (size - 1) * whole,
            "latency-divided": 2 * (size - 1) * whole / size,
            "half-an-allreduce": (size - 1) * chunk,
            "a-step-too-many-in-the-ring": 2 * size * chunk,
            "one-latency": sent + alpha,
            "one-latency/each way": sent + 2 * alpha,
        },
    }


class Costs(CallCheck, JudgedCalls):
    """The four numbers, with latency and bandwidth each alone and together."""

    todo, points = "costs", 2
    consolidation = (
        "Rounds times alpha, and bytes on the busiest line times beta: that is all. Small messages want few rounds, "
        "large ones few bytes."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """One rank and many, powers of two and not."""

        def call(size: int) -> dict:
            alpha, beta = rng.uniform(1e-4, 5e-3), rng.uniform(1e-8, 1e-6)
            return {"size": size, "nbytes": rng.randrange(1000, 10**6), "alpha": alpha, "beta": beta}

        cases = [{"calls": [*map(call, (4, 6, 3, 2, 1)), call(8) | {"alpha": 0.0}, call(5) | {"nbytes": 0}]}]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The numbers under the expected keys, as far as they are there."""
        value: Any = function(**call)
        if not isinstance(value, dict):
            return {"kind": type_in_words(value), "costs": None}
        missing = [key for key in KEYS if key not in value]
        kind = f"a dict without {' and '.join(map(repr, missing))}" if missing else ""
        return {"kind": kind, "costs": None if missing else [described(value[key]) for key in KEYS]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """One number for each key."""
        return {"kind": string(), "costs": optional(array(described_value(), len(KEYS)))}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """Each number."""
        [result] = call.shown
        if result["costs"] is None:
            return [finding("not-the-four-costs", kind=result["kind"], keys=", ".join(map(repr, KEYS)))]
        found: list[Finding | Diagnosis] = []
        expected, wrong = expected_costs(**call.plan), mistakes(**call.plan)
        for name, cost in zip(KEYS, result["costs"], strict=True):
            if cost["value"] is None:
                found.append(finding("cost-is-no-number", name=name, kind=f"of type {cost['type']}"))
                continue
            made = partial(finding, name=name, actual=cost["value"], expected=expected[name], **call.plan)
            otherwise = "other-cost" if call.plan["size"] > 1 else "not-free-alone"
            candidates = wrong[name] if call.plan["size"] > 1 else {}
            found.append(diagnose(name, cost["value"], expected[name], candidates, made, otherwise))
        return found


CHECK = Costs()
