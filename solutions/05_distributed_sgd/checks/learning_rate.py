"""The check of `learning_rate`."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import sqrt

from autograde.contract.calls import described, type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

finding = Findings("""
not-a-schedule 1
Your function returns {kind}. A function is expected: it takes the number of a step, and returns the learning rate.

no-warmup-fails 0.5
With `warmup` = 0, your `rate` divides by zero. Then there is no line to follow: what is the learning rate from step 0
on?

starts-at-zero 0.5
Your warm-up begins at 0, so step 0 goes nowhere. It should begin with the learning rate of a single rank.

past-the-top 0.5
After step {warmup}, your learning rate goes on rising. What should it be from there on?

square-root 0.5
Your learning rate ends at lr times the square root of the number of ranks. This lab uses the linear rule.

scaled-twice 0.5
Your learning rate ends at {size} times the value that is expected: it is multiplied by the number of ranks twice.

never-scaled 1
Your learning rate stays at `lr`, whatever the number of ranks.

unscaled-without-warmup 1
Without a warm-up, your learning rate stays at {actual:.6g}, that of one rank. The warm-up is only a way to `lr * size`:
what is the rate where there is none?

at-the-top-too-soon 0.5
Your learning rate is at the top a step too early. It should be there at step {warmup}.

always-at-the-top 1
Your learning rate is at the top from step 0 on, also with {warmup} steps of warm-up.

staircase 0.5
Your learning rate stays at `lr` until step {warmup}, and then jumps. A straight line should lead up.

remembers-its-calls 1
Your `rate` gives other values if it is asked in another order, or twice. The step that it is given should decide alone.

wrong-rate 1
With lr = {lr:g}, {size} ranks and {warmup} steps of warm-up, the learning rate at step {step} is {actual:.6g}, where
{expected:.6g} is expected.
""")


def mistakes(step: int, lr: float, size: int, warmup: int) -> dict[str, float]:
    """What known mistakes give at a step."""
    top, part = lr * size, min(1.0, step / warmup) if warmup else 1.0

    def line(low: float, high: float, share: float = part) -> float:
        return low + (high - low) * share

    found = {
        "starts-at-zero": line(0, top),
        "square-root": line(lr, lr * sqrt(size)),
        "scaled-twice": line(lr, top * size),
        "scaled-twice/from the top": line(top, top * size),
        "never-scaled": lr,
        "unscaled-without-warmup": lr if warmup == 0 else line(lr, top),
        "always-at-the-top": top,
        "staircase": top if step >= warmup else lr,
    }
    if warmup:
        found["starts-at-zero/and soon"] = line(0, top, min(1.0, (step + 1) / warmup))
        found["past-the-top"] = line(lr, top, step / warmup)
        found["past-the-top/from zero"] = line(0, top, step / warmup)
        found["at-the-top-too-soon"] = line(lr, top, min(1.0, (step + 1) / warmup))
        found["at-the-top-too-soon/last"] = line(lr, top, min(1.0, step / max(1, warmup - 1)))
    return found


def expected_rate(step: int, lr: float, size: int, warmup: int) -> float:
    """The learning rate at a step."""
    return lr * size if step >= warmup else lr + (lr * size - lr) * step / warmup


class LearningRate(CallCheck, JudgedCalls):
    """The rate at many steps, asked in any order."""

    todo, points = "learning_rate", 1
    consolidation = (
        "N ranks make 1/N of the steps, so each may be N times as long, where the surface allows it. The warm-up "
        "is for the place where training begins, which is often steeper than where it goes."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Long warm-ups and short ones, none, and a single rank."""

        def call(size: int, warmup: int) -> dict:
            steps = [*range(warmup + 4), 10 * warmup + 7]
            rng.shuffle(steps)
            return {"lr": rng.uniform(0.01, 0.2), "size": size, "warmup": warmup, "steps": [*steps, *steps[::-1]]}

        cases = [{"size": 1, "calls": [call(4, 5), call(3, 0), call(8, 1), call(1, 4)]}]
        ### BEGIN HIDDEN CASES
        cases += [{"size": 1, "calls": [call(rng.randint(5, 16), rng.randint(6, 9)), call(2, 0), call(3, 3)]}]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The rates at the case's steps."""
        rates, zero, kind = [], False, ""
        try:
            rate = function(call["lr"], call["size"], call["warmup"])
            kind = type_in_words(rate)
            if callable(rate):
                kind, rates = "", [described(rate(step)) for step in call["steps"]]
        except ZeroDivisionError:
            if call["warmup"]:
                raise
            zero = True
        return {"rates": rates, "kind": kind, "zero": zero}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Up to one rate for each step."""
        return {"rates": array(described_value(), most=len(call["steps"])), "kind": string(), "zero": boolean()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """Each rate."""
        plan, [shown] = call.plan, call.shown
        if shown["zero"]:
            return [finding("no-warmup-fails")]
        if shown["kind"] or len(shown["rates"]) != len(plan["steps"]):
            return [finding("not-a-schedule", kind=shown["kind"] or "nothing that can be called")]
        rates = [each["value"] for each in shown["rates"]]
        if rates != rates[::-1] and None not in rates:
            return [finding("remembers-its-calls")]
        if plan["warmup"] == 0 and any(each["value"] is None for each in shown["rates"]):
            return [finding("no-warmup-fails")]
        if missing := [each["type"] for each in shown["rates"] if each["value"] is None]:
            return [finding("not-a-schedule", kind=f"a function whose rates are no finite numbers ({missing[0]})")]
        about = {name: plan[name] for name in ("lr", "size", "warmup")}
        found: list[Finding | Diagnosis] = []
        for step, result in zip(plan["steps"], shown["rates"], strict=True):
            actual, expected = result["value"], expected_rate(step, **about)
            made = partial(finding, **about, step=step, actual=actual, expected=expected)
            found.append(diagnose("rate", actual, expected, mistakes(step, **about), made, "wrong-rate"))
        return found


CHECK = LearningRate()
