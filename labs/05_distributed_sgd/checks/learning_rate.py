"""The check of `learning_rate`: the rate at many steps, asked in any order."""

from math import sqrt

from autograde.rubric import CallCheck, Criterion, Mistakes, Rounding, Same, Words, changed, first_of, given, of_call

from ..probes import learning_rate

words = Words("""
not-a-schedule: Your function returns {kind}. A function is expected: it takes the number of a step, and returns the
learning rate.

no-warmup-fails: With `warmup` = 0, your `rate` divides by zero. Then there is no line to follow: what is the learning
rate from step 0 on?

remembers-its-calls: Your `rate` gives other values if it is asked in another order, or twice. The step that it is given
should decide alone.
""")
lr, size, warmup, steps = map(of_call, ("lr", "size", "warmup", "steps"))


def line(call, low=1, high=None, early=0, length=0, stops=True):
    """The rates of a line of `length` steps from `low` times lr at step -`early` to `high` times lr, where it stops."""
    high, length = high or size(call), length or warmup(call)
    parts = [(step + early) / length if length else 1.0 for step in steps(call)]
    return [lr(call) * (low + (high - low) * (min(1.0, part) if stops else part)) for part in parts]


def rates(call):
    return [each.value for each in call.seen[0].rates]


def no_schedule(call):
    [seen] = call.seen
    if seen.divides or (None in rates(call) and not warmup(call)):
        return words("no-warmup-fails")
    return words("not-a-schedule", kind=seen.kind) if seen.kind else RATES.form(call)


def remembers(call):
    return words("remembers-its-calls") if rates(call) != rates(call)[::-1] else None


RATES = Same(
    lambda call: call.seen[0].rates,
    line,
    where=lambda call, place: f"At step {steps(call)[place[0]]}, the learning rate" if place else "What `rate` gives",
    near=Rounding(1e-9, least=0.0),
)
MISTAKES = Mistakes(
    """
    starts-at-zero: Your warm-up begins at 0, so step 0 goes nowhere. It should begin with the learning rate of a single
    rank.

    past-the-top: After step {warmup}, your learning rate goes on rising. What should it be from there on?

    square-root: Your learning rate ends at lr times the square root of the number of ranks. This lab uses the linear
    rule.

    scaled-twice: Your learning rate ends at {size} times the value that is expected: it is multiplied by the number of
    ranks twice.

    never-scaled: Your learning rate stays at `lr`, whatever the number of ranks. What has the warm-up to lead to?

    at-the-top-too-soon: Your learning rate is at the top a step too early. It should be there at step {warmup}.

    always-at-the-top: Your learning rate is at the top from step 0 on, also with {warmup:step} of warm-up.

    staircase: Your learning rate stays at `lr` until step {warmup}, and then jumps. A straight line should lead up.
    """,
    changed(
        line,
        starts_at_zero=[{"low": 0}, {"low": 0, "early": 1}],
        past_the_top=[{"stops": False}, {"low": 0, "stops": False}],
        square_root={"high": lambda call: sqrt(size(call))},
        scaled_twice=[{"low": low, "high": lambda call: size(call) ** 2} for low in (1, size)],
        never_scaled={"high": 1},
        at_the_top_too_soon=[{"early": 1}, {"length": lambda call: max(1, warmup(call) - 1)}],
        always_at_the_top={"low": size},
        staircase=lambda call: [lr(call) * (size(call) if step >= warmup(call) else 1) for step in steps(call)],
    ),
)
UNSCALED = Mistakes(
    """
    never-scaled: Without a warm-up, your learning rate stays at `lr`, that of one rank. The warm-up is only a way to
    `lr * size`: what is the rate where there is none?
    """,
    changed(line, never_scaled={"high": 1}),
)


def cases(rng):
    """Long warm-ups and short ones, and a single rank; then none."""

    def call(size, warmup):
        steps = rng.sample(asked := [*range(warmup + 4), 10 * warmup + 7], len(asked))
        return {"lr": rng.uniform(0.01, 0.2), "size": size, "warmup": warmup, "steps": [*steps, *steps[::-1]]}

    with_warmup = (4, 5), (8, 1), (1, 4), (rng.randint(5, 16), rng.randint(6, 9)), (3, 3)
    return [{"calls": [call(*each) for each in some]} for some in (with_warmup, ((3, 0), (2, 0)))]


LINE = "`rate` goes from `lr` at step 0 in a straight line to `lr * size` at step `warmup`, and stays there"
ALONE = "`rate` depends on nothing but the step that it is given"
WITHOUT = "without warm-up it is `lr * size` from step 0 on"
LINEAR = first_of(no_schedule, RATES)
CHECK = CallCheck.of(
    "learning_rate",
    learning_rate.PROBE,
    cases,
    Criterion("alone", 0.25, ALONE, first_of(no_schedule, remembers), on=given("warmup")),
    Criterion("warmup", 0.5, LINE, LINEAR, MISTAKES, on=given("warmup"), after=("alone",)),
    Criterion("without", 0.25, WITHOUT, LINEAR, UNSCALED, on=given(warmup=0), after=("alone", "warmup")),
    consolidation="N ranks make 1/N of the steps, so each may be N times as long, where the surface allows it. The "
    "warm-up is for the place where training begins, which is often steeper than where it goes.",
    inputs=("lr", "size", "warmup"),
)
