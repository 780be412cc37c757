"""The check of `learning_rate`."""

from __future__ import annotations

import random
from math import sqrt

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving
from autograde.rubric.judges.numbers import SINGLE, float32
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Words, Wrong

from ..probes import learning_rate

NEAR = Rounding(1e-9, least=0.0)

words = Words("""
not-a-schedule: Your function returns {kind}. A function is expected: it takes the number of a step, and returns the
learning rate.

no-warmup-fails: With `warmup` = 0, your `rate` divides by zero. Then there is no line to follow: what is the learning
rate from step 0 on?

remembers-its-calls: Your `rate` gives other values if it is asked in another order, or twice. The step that it is given
should decide alone.

wrong-rate: With lr = {lr:g}, {size:rank} and {warmup:step} of warm-up, the learning rate at step {step} is
{actual:.6g}, where {expected:.6g} is expected.
""")


def rates(call: Call) -> list[float | None]:
    """The rates at the call's steps."""
    return [number.value for number in call.seen[0].rates]


def line(
    call: Call, low: float = 1.0, high: float | None = None, early: int = 0, length: int = 0, stops: bool = True
) -> list[float]:
    """The rates of a line from `low` times lr at step -`early` to `high` times lr, by default the number of ranks.

    length: steps of the line, if they are not those of the warm-up. stops: whether it stays there.
    """
    lr, size, warmup = (call.arguments[name] for name in ("lr", "size", "warmup"))
    high, length = size if high is None else high, length or warmup
    parts = [(step + early) / length if length else 1.0 for step in call.arguments["steps"]]
    return [lr * (low + (high - low) * (min(1.0, part) if stops else part)) for part in parts]


def known_mistakes(call: Call) -> dict[str, tuple]:
    """The rates that each mistake gives."""
    lr, size, warmup = (call.arguments[name] for name in ("lr", "size", "warmup"))
    return {
        "starts-at-zero": (line(call, 0), line(call, 0, early=1)),
        "past-the-top": (line(call, stops=False), line(call, 0, stops=False)),
        "square-root": (line(call, high=sqrt(size)),),
        "scaled-twice": (line(call, high=size**2), line(call, size, size**2)),
        "never-scaled": (line(call, high=1),),
        "at-the-top-too-soon": (line(call, early=1), line(call, length=max(1, warmup - 1))),
        "always-at-the-top": (line(call, size),),
        "staircase": ([lr * size if step >= warmup else lr for step in call.arguments["steps"]],),
    }


def no_schedule(call: Call) -> Wrong | None:
    """What is wrong if there is not a finite rate at each step."""
    [seen] = call.seen
    missing = [each.kind for each in seen.rates if each.value is None]
    if seen.divides or (missing and not call.arguments["warmup"]):
        return words("no-warmup-fails")
    if missing:
        return words("not-a-schedule", kind=f"a function whose rates are no finite numbers ({missing[0]})")
    fits = len(seen.rates) == len(call.arguments["steps"])
    return None if fits else words("not-a-schedule", kind=seen.kind or "nothing that can be called")


class Rates:
    """Judge of the rates at all steps that are asked for."""

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        if wrong := no_schedule(call):
            return wrong
        for step, actual, expected in zip(call.arguments["steps"], rates(call), line(call), strict=True):
            if not NEAR(actual, expected) and SINGLE(actual, expected):
                return float32(f"At step {step}, the learning rate is {actual:.10g}, where {expected:.10g} is expected")
            if not NEAR(actual, expected):
                about = {name: call.arguments[name] for name in ("lr", "size", "warmup")}
                return words("wrong-rate", compared=True, step=step, actual=actual, expected=expected, **about)
        return None

    def gives(self, call: Call, value: list[float]) -> bool:
        """Whether these are the rates."""
        return NEAR(rates(call), value)


def asked_again(call: Call) -> Wrong | None:
    """Each step has the same rate when it is asked for once more, in the reversed order."""
    return no_schedule(call) or (words("remembers-its-calls") if rates(call) != rates(call)[::-1] else None)


MISTAKES = MistakesGiving(
    """
    starts-at-zero: Your warm-up begins at 0, so step 0 goes nowhere. It should begin with the learning rate of a single
    rank.

    past-the-top: After step {warmup}, your learning rate goes on rising. What should it be from there on?

    square-root: Your learning rate ends at lr times the square root of the number of ranks. This lab uses the linear
    rule.

    scaled-twice: Your learning rate ends at {size} times the value that is expected: it is multiplied by the number of
    ranks twice.

    never-scaled: Your learning rate stays at `lr`, whatever the number of ranks.

    at-the-top-too-soon: Your learning rate is at the top a step too early. It should be there at step {warmup}.

    always-at-the-top: Your learning rate is at the top from step 0 on, also with {warmup:step} of warm-up.

    staircase: Your learning rate stays at `lr` until step {warmup}, and then jumps. A straight line should lead up.
    """,
    known_mistakes,
)
WITHOUT = MistakesGiving(
    """
    unscaled-without-warmup: Without a warm-up, your learning rate stays at `lr`, that of one rank. The warm-up is only
    a way to `lr * size`: what is the rate where there is none?
    """,
    lambda call: {"unscaled-without-warmup": [call.arguments["lr"]] * len(call.arguments["steps"])},
)


def warms_up(arguments: dict) -> bool:
    """Whether a call has a warm-up."""
    return arguments["warmup"] > 0


class LearningRate(CallCheck):
    """The rate at many steps, asked in any order."""

    todo, probe = "learning_rate", learning_rate.PROBE
    inputs = ("lr", "size", "warmup")
    consolidation = (
        "N ranks make 1/N of the steps, so each may be N times as long, where the surface allows it. The warm-up "
        "is for the place where training begins, which is often steeper than where it goes."
    )
    criteria = (
        Criterion("alone", 0.25, "`rate` depends on nothing but the step that it is given", asked_again, on=warms_up),
        Criterion(
            "warmup",
            0.5,
            "`rate` goes from `lr` at step 0 in a straight line to `lr * size` at step `warmup`, and stays there",
            Rates(),
            MISTAKES,
            on=warms_up,
            after=("alone",),
        ),
        Criterion(
            "without",
            0.25,
            "without warm-up it is `lr * size` from step 0 on",
            Rates(),
            WITHOUT,
            on=lambda arguments: not warms_up(arguments),
            after=("alone", "warmup"),
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Long warm-ups and short ones, none, and a single rank."""

        def call(size: int, warmup: int) -> dict:
            steps = [*range(warmup + 4), 10 * warmup + 7]
            rng.shuffle(steps)
            return {"lr": rng.uniform(0.01, 0.2), "size": size, "warmup": warmup, "steps": [*steps, *steps[::-1]]}

        sizes = [(4, 5), (8, 1), (1, 4), (rng.randint(5, 16), rng.randint(6, 9)), (3, 3)]
        return [{"calls": [call(*each) for each in sizes]}, {"calls": [call(3, 0), call(2, 0)]}]


CHECK = LearningRate()
