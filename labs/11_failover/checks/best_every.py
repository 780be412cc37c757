"""The check of `best_every`."""

from __future__ import annotations

import math
import random

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving
from autograde.rubric.words import Words, Wrong

from ..probes import best_every

EQUAL, NEAR = 1e-6, 0.04  # relative: what a k may lose more than the best one, and where it is not far from it

words = Words("""
below-1: For steps of {step:.4g} s that are long beside the time between failures, the function returns {actual:g}. A
checkpoint after every {actual:g}th step cannot be: 1 is the least.

not-an-int: The function returns a value of type {kind}. What is counted is a whole number: an int is expected.

wrong-k: For steps of {step:.4g} s, saves of {save:.4g} s, and {nodes:node} that fail every {mtbf:.4g} s, the function
returns {actual:g}. It loses {lost:.3%} of the time by the formula; with the best k it is {least:.3%}.
""")


def share(k: float, plan: dict) -> float:
    """The share of the time that is lost."""
    mtbf = plan["mtbf"] / plan["nodes"]
    return plan["save"] / (k * plan["step"]) + k * plan["step"] / (2 * mtbf)


def real_best(plan: dict, half: float = 2.0) -> float:
    """The real number of steps at which the share is least. half: what M is multiplied by in the formula."""
    return math.sqrt(half * plan["save"] * plan["mtbf"] / plan["nodes"]) / plan["step"]


def beside(k: float, plan: dict) -> int:
    """The better one of the whole numbers beside k."""
    below = max(1, math.floor(k))
    return min(below, below + 1, key=lambda each: share(each, plan))


def whole(k: float) -> tuple[int, int, int]:
    """k, rounded in three ways."""
    return max(1, round(k)), max(1, math.floor(k)), math.ceil(k)


def daly(plan: dict) -> int:
    """Daly's first three terms, less the save."""
    mtbf = plan["mtbf"] / plan["nodes"]
    part = math.sqrt(plan["save"] / (2 * mtbf))
    seconds = math.sqrt(2 * plan["save"] * mtbf) * (1 + part / 3 + part**2 / 9) - plan["save"]
    return max(1, round(seconds / plan["step"]))


class Least:
    """Judge of the share that is lost at the k that is returned. above: relative, how much more than the least."""

    def __init__(self, above: float) -> None:
        self.above = above

    def __call__(self, call: Call) -> Wrong | None:
        """What is wrong with one call; a k below 1 counts as 1."""
        number, plan = call.seen[0].value, call.arguments
        if number.value is None:
            return words("not-an-int", kind=number.kind)
        best = beside(real_best(plan), plan)
        lost, least = (share(max(1.0, k), plan) for k in (number.value, best))
        about = {**plan, "actual": number.value, "lost": lost, "least": least}
        return words("wrong-k", compared=True, **about) if lost > least * (1 + self.above) else None

    def gives(self, call: Call, value: float) -> bool:
        """Whether this is what was returned."""
        actual = call.seen[0].value.value
        return actual is not None and math.isclose(max(1, actual), value, rel_tol=1e-9)


def whole_number(call: Call) -> Wrong | None:
    """An int, of 1 or more."""
    number = call.seen[0].value
    if number.kind != "int" or number.value is None:
        return words("not-an-int", kind=number.kind)
    return words("below-1", step=call.arguments["step"], actual=number.value) if number.value < 1 else None


def given_by_mistake(call: Call) -> dict[str, tuple[int, ...]]:
    """What known mistakes would return."""
    plan = call.arguments
    best, nodes = real_best(plan), plan["nodes"]
    seconds, other = best * plan["step"], {**plan, "nodes": 1}
    longer, no_two = {**other, "mtbf": plan["mtbf"] * nodes}, real_best(plan, 1.0)
    return {
        "one-node-for-all": (beside(real_best(other), other), whole(real_best(other))[0]),
        "seconds-for-steps": (*whole(seconds), beside(seconds, plan)),
        "nodes-fail-less": (beside(real_best(longer), longer), whole(real_best(longer))[0]),
        "no-two": (whole(no_two)[0], beside(no_two, plan), beside(no_two, {**plan, "mtbf": plan["mtbf"] / 2})),
        "dalys-terms": (daly(plan),),
        "rounded": whole(best),
    }


MISTAKES = MistakesGiving(
    """
    one-node-for-all: With {nodes:node} the function returns {actual:g}, which is right for a single one. Each of them
    can fail.

    seconds-for-steps: The function returns {actual:g}. That is the number of *seconds* between two checkpoints that are
    best; steps of {step:.4g} s are asked for.

    nodes-fail-less: The function returns {actual:g}, as if {nodes:node} failed less often together than one. How long
    does it take until the first of them fails?

    no-two: The function returns {actual:g}, which is right for a loss of k step / M. A failure costs half of what lies
    between two checkpoints, on average.

    dalys-terms: The function returns {actual:g}, which is Daly's formula. Young's sum, which is asked for, is least
    elsewhere.

    rounded: The function returns {actual:g}, beside the best k, and loses more with it: {lost:.4%} of the time, not
    {least:.4%}.
    """,
    given_by_mistake,
)


class BestEvery(CallCheck):
    """Many nodes and one; short steps and long ones; a best k of 1, of a few, where rounding tells, and of many."""

    todo, probe = "best_every", best_every.PROBE
    inputs = ("step", "save", "mtbf", "nodes")
    consolidation = (
        "The best k makes both losses equal, and the share that is lost grows with the square root of the save's time "
        "and of the number of nodes."
    )
    criteria = (
        Criterion("share", 1, "hardly more time is lost than with the best k", Least(NEAR), MISTAKES),
        Criterion(
            "neighbours",
            0.5,
            "of two neighbours, k is the one that loses less (or no more than 1e-6 of that share more)",
            Least(EQUAL),
            MISTAKES,
            after=("share",),
        ),
        Criterion("whole", 0.5, "k is an int of at least 1", whole_number),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Some of each kind."""
        kinds = ["few", "many", "one", "rounding", "above", "below", "few", "above", "rounding", "below", "one"]
        return [{"size": 1, "calls": [draw_plan(rng, kind) for kind in kinds]}]


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
