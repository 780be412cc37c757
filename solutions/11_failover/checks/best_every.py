"""The check of `best_every`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import number, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.numbers import finding as of_numbers

ABOVE = 1e-6  # relative: what a k may lose more than the best one

finding = Findings("""
below-1 1
For steps of {step:.4g} s that are long beside the time between failures, the function returns {actual}. A checkpoint
after every {actual}th step cannot be: 1 is the least.

one-node-for-all 1.5
With {nodes} nodes the function returns {actual}, which is right for a single one. Each of them can fail.

nodes-fail-less 1.5
The function returns {actual}, as if {nodes} nodes failed less often together than one. How long does it take until the
first of them fails?

seconds-for-steps 1.5
The function returns {actual}. That is the number of *seconds* between two checkpoints that are best; steps of
{step:.4g} s are asked for.

no-two 1
The function returns {actual}, which is right for a loss of k step / M. A failure costs half of what lies between two
checkpoints, on average.

rounded 0.5
The function returns {actual}, beside the best k, and loses more with it: {lost:.4%} of the time, not {least:.4%}.

dalys-terms 0.5
The function returns {actual}, which is Daly's formula. Young's sum, which is asked for, is least elsewhere.

wrong-k 2
For steps of {step:.4g} s, saves of {save:.4g} s, and {nodes} nodes that fail every {mtbf:.4g} s, the function returns
{actual}. It loses {lost:.3%} of the time by the formula; with the best k it is {least:.3%}.
""")


def share(k: float, plan: dict, half: float = 2.0) -> float:
    """The share of the time that is lost."""
    mtbf = plan["mtbf"] / plan["nodes"]
    return plan["save"] / (k * plan["step"]) + k * plan["step"] / (half * mtbf)


def real_best(plan: dict, nodes: int, half: float = 2.0) -> float:
    """The real number of steps at which the share is least."""
    return math.sqrt(half * plan["save"] * plan["mtbf"] / nodes) / plan["step"]


def whole_best(plan: dict, nodes: int | None = None, half: float = 2.0) -> int:
    """The whole number of steps at which it is least."""
    plan = {**plan, "nodes": nodes or plan["nodes"]}
    below = max(1, math.floor(real_best(plan, plan["nodes"], half)))
    return min(below, below + 1, key=lambda k: share(k, plan, half))


def beside(k: float, plan: dict) -> int:
    """The better one of the whole numbers beside k."""
    below = max(1, math.floor(k))
    return min(below, below + 1, key=lambda each: share(each, plan))


def daly(plan: dict) -> int:
    """Daly's first three terms, less the save."""
    mtbf = plan["mtbf"] / plan["nodes"]
    part = math.sqrt(plan["save"] / (2 * mtbf))
    seconds = math.sqrt(2 * plan["save"] * mtbf) * (1 + part / 3 + part**2 / 9) - plan["save"]
    return max(1, round(seconds / plan["step"]))


class BestEvery(CallCheck, JudgedCalls):
    """Many nodes and one; short steps and long ones; a best k of 1, of a few, where rounding tells, and of many."""

    todo, points = "best_every", 2
    consolidation = (
        "The best k makes both losses equal, and the share that is lost grows with the square root of the save's time "
        "and of the number of nodes."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two of each kind."""
        kinds = ["few", "many", "one", "rounding", "above", "below"]
        ### BEGIN HIDDEN CASES
        kinds += ["few", "above", "rounding", "below", "one"]
        ### END HIDDEN CASES
        return [{"size": 1, "calls": [draw_plan(rng, kind) for kind in kinds]}]

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What is returned."""
        value = function(call["step"], call["save"], call["mtbf"], call["nodes"])
        known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53
        return {"value": float(value) if known else None, "kind": type(value).__name__}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """A number, and its type."""
        return {"value": optional(number()), "kind": string()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The share that is lost at this k, beside the least one."""
        [shown], plan = call.shown, call.plan
        actual, expected = shown["value"], whole_best(plan)
        found = [of_numbers("not-an-int", kind=shown["kind"])] if shown["kind"] != "int" else []
        if actual is None:
            return [finding("wrong-k", **told(plan, "no number", math.nan))]
        if actual < 1:
            return [*found, finding("below-1", step=plan["step"], actual=f"{actual:g}")]

        def equal(given: float, other: float) -> bool:
            if other is expected:
                return share(given, plan) <= share(expected, plan) * (1 + ABOVE)
            return math.isclose(given, other, rel_tol=1e-9)

        seconds = real_best(plan, plan["nodes"]) * plan["step"]
        half = real_best(plan, plan["nodes"], 1.0)
        candidates = {
            "one-node-for-all": whole_best(plan, 1),
            "one-node-for-all/rounded": max(1, round(real_best(plan, 1))),
            "seconds-for-steps": max(1, round(seconds)),
            "seconds-for-steps/down": max(1, math.floor(seconds)),
            "seconds-for-steps/up": math.ceil(seconds),
            "seconds-for-steps/beside": beside(seconds, plan),
            "nodes-fail-less": whole_best({**plan, "mtbf": plan["mtbf"] * plan["nodes"] ** 2}),
            "nodes-fail-less/rounded": max(1, round(real_best(plan, plan["nodes"]) * plan["nodes"])),
            "no-two": whole_best(plan, half=1.0),
            "no-two/rounded": max(1, round(real_best(plan, plan["nodes"], 1.0))),
            "no-two/beside": beside(half, plan),
            "dalys-terms": daly(plan),
            "rounded": max(1, round(real_best(plan, plan["nodes"]))),
            "rounded/down": max(1, math.floor(real_best(plan, plan["nodes"]))),
            "rounded/up": math.ceil(real_best(plan, plan["nodes"])),
        }
        about = partial(finding, **told(plan, f"{actual:g}", share(actual, plan)))
        return [*found, diagnose("k", actual, expected, candidates, about, "wrong-k", equal)]


def told(plan: dict, actual: str, lost: float) -> dict:
    """What findings may say of a call."""
    return {**plan, "actual": actual, "lost": lost, "least": share(whole_best(plan), plan)}


def draw_plan(rng: random.Random, kind: str) -> dict:
    """Times and nodes. kind: of the best k: "few", "many", "one" node, "below" 1, a little "above" a whole number, or
    one where "rounding" to the nearest is wrong."""
    nodes = 1 if kind == "one" else rng.choice([8, 100, 1000, 10_000])
    step = rng.uniform(0.2, 0.8)
    between = {"few": (4, 20), "many": (500, 5000), "one": (6, 40), "below": (0.1, 0.4), "above": (3.1, 3.3)}
    k = rng.uniform(*between.get(kind, (1.43, 1.48)))  # from the root of 2 on, 2 is better than 1
    save = rng.uniform(0.02, 0.9) if kind != "below" else rng.uniform(0.01, 0.02)
    mtbf = (k * step) ** 2 / (2 * save)
    return {"step": step, "save": save, "mtbf": mtbf * nodes, "nodes": nodes}


CHECK = BestEvery()
