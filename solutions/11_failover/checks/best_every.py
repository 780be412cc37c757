"""The check of `best_every`: how much is lost with the number of steps that it returns."""

from math import ceil, floor, sqrt

from autograde.rubric import EXACT, CallCheck, Comparing, Criterion, Mistakes, Words, changed

from ..probes import best_every

EQUAL, NEAR = 1e-6, 0.04  # relative: what a k may lose more than the best one, and where it is not far from it
words = Words("""
below-1: For steps of {step:.4g} s that are long beside the time between failures, the function returns {actual:g}. A
checkpoint after every {actual:g}th step cannot be: 1 is the least.

not-an-int: The function returns a value of type {kind}. What is counted is a whole number: an int is expected.

wrong-k: The function returns {actual:g}. It loses {lost:.3%} of the time by the formula; with the best k it is
{least:.3%}.
""")


def share(k, plan):
    """The share of the time that is lost."""
    return plan["save"] / (k * plan["step"]) + k * plan["step"] * plan["nodes"] / (2 * plan["mtbf"])


def beside(k, plan):
    """The better one of the whole numbers beside k."""
    below = max(1, floor(k))
    return min(below, below + 1, key=lambda each: share(each, plan))


def best(call, half=2, nodes=None, steps=True, whole=beside):
    """The k that loses least. half: what M is multiplied by. nodes: if not all. steps: whether steps are counted, not
    seconds. whole: how k becomes an int."""
    plan = {**call.arguments, "nodes": nodes or call.arguments["nodes"]}
    k = sqrt(half * plan["save"] * plan["mtbf"] / plan["nodes"]) / (plan["step"] if steps else 1)
    return beside(k, plan) if whole is beside else max(1, whole(k))


class Least(Comparing):
    """Judge of the share that is lost at the k that is returned. above: relative, how much more than the least."""

    alike = EXACT

    def __init__(self, above):
        self.above = above

    def seen(self, call):
        return call.seen[0].value.value and max(1, call.seen[0].value.value)

    def __call__(self, call):
        number, plan = call.seen[0].value, call.arguments
        if number.value is None:
            return words("not-an-int", kind=number.kind)
        lost, least = share(max(1.0, number.value), plan), share(best(call), plan)
        about = {**plan, "actual": number.value, "lost": lost, "least": least}
        return words("wrong-k", compared=True, **about) if lost > least * (1 + self.above) else None


def whole_number(call):
    number = call.seen[0].value
    if number.kind != "int" or number.value is None:
        return words("not-an-int", kind=number.kind)
    return words("below-1", step=call.arguments["step"], actual=number.value) if number.value < 1 else None


ROUND, DOWN, UP, BESIDE = (lambda call, each=each: each for each in (round, floor, ceil, beside))  # of any call
MISTAKES = Mistakes(
    """
    one-node-for-all: With {nodes:node} the function returns {actual:g}, which is right for a single one. Each of them
    can fail.

    seconds-for-steps: The function returns {actual:g}. That is the number of *seconds* between two checkpoints that are
    best; steps of {step:.4g} s are asked for.

    nodes-fail-less: The function returns {actual:g}, as if {nodes:node} failed less often together than one. How long
    does it take until the first of them fails?

    no-two: The function returns {actual:g}, which is right for a loss of k step / M. A failure costs half of what lies
    between two checkpoints, on average.

    rounded: The function returns {actual:g}, beside the best k, and loses more with it: {lost:.4%} of the time, not
    {least:.4%}.
    """,
    changed(
        best,
        one_node_for_all=[{"nodes": 1}, {"nodes": 1, "whole": ROUND}],
        seconds_for_steps=[{"steps": False, "whole": each} for each in (ROUND, DOWN, UP, BESIDE)],
        nodes_fail_less=[{"nodes": lambda call: 1 / call.arguments["nodes"], "whole": by} for by in (ROUND, BESIDE)],
        no_two=[{"half": 1}, {"half": 1, "whole": ROUND}, {"nodes": lambda call: 2 * call.arguments["nodes"]}],
        rounded=[{"whole": each} for each in (ROUND, DOWN, UP)],
    ),
)


def cases(rng):
    """Many nodes and one; short steps and long ones; a best k of 1, of a few, where rounding tells, and of many."""
    kinds = ["few", "many", "one", "rounding", "above", "below", "few", "above", "rounding", "below", "one"]
    return [{"size": 1, "calls": [draw_plan(rng, kind) for kind in kinds]}]


def draw_plan(rng, kind):
    """Times and nodes. kind: of the best k: "few", "many", "one" node, "below" 1, a little "above" a whole number, or
    one where "rounding" to the nearest is wrong."""
    nodes = 1 if kind == "one" else rng.choice([8, 100, 1000, 10_000])
    step = rng.uniform(0.2, 0.8)
    between = {"few": (4, 20), "many": (500, 5000), "one": (6, 40), "below": (0.1, 0.4), "above": (3.1, 3.3)}
    k = rng.uniform(*between.get(kind, (1.43, 1.48)))  # from the root of 2 on, 2 is better than 1
    save = rng.uniform(0.02, 0.9) if kind != "below" else rng.uniform(0.01, 0.02)
    mtbf = (k * step) ** 2 / (2 * save)
    return {"step": step, "save": save, "mtbf": mtbf * nodes, "nodes": nodes}


CHECK = CallCheck.of(
    "best_every",
    best_every.PROBE,
    cases,
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
    repeats=False,
    inputs=("step", "save", "mtbf", "nodes"),
    consolidation="The best k makes both losses equal, and the share that is lost grows with the square root of the "
    "save's time and of the number of nodes.",
)
