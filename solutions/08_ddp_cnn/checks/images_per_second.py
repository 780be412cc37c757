"""The check of `images_per_second`: on devices that go on working after a step has returned, one of them slower."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Errors,
    first_of,
    given,
    lacking,
    nothing_starts_or_ends,
)

from ..probes import images_per_second
from .rates import OTHER_RATES, Rate
from .timed import not_waited_within, nothing_between, steps_made, together, waited_after, waited_between

STEPS = first_of(nothing_starts_or_ends, steps_made, waited_after, waited_between, not_waited_within)
RATE = first_of(steps_made, waited_after, Rate())


def cases(rng):
    """On several ranks, and alone; that comes last, as what fails there says nothing about groups. All steps go on
    after they have returned, but for a case."""

    def case(size, alone=False, on_its_own=True):
        # With seven in all, the defaults' five would look like those that count.
        warmup, steps = rng.choice([(2, 4), (2, 6), (3, 5), (3, 6)])
        call = {"alone": alone, "on_its_own": on_its_own, "images": rng.randrange(16, 99)}
        return {"size": size, "calls": [call | {"warmup": warmup, "steps": steps, "slow": rng.randrange(size)}]}

    return [case(4), case(3, on_its_own=False), case(2), case(1, alone=True)]


def gpu_case(rng):
    """A few steps on two ranks."""
    call = {"alone": False, "on_its_own": True, "images": 8, "warmup": 1, "steps": 2, "slow": 0}
    return {"size": 2, "calls": [call]}


CHECK = CallCheck.of(
    "images_per_second",
    images_per_second.PROBE,
    cases,
    Criterion(
        "steps",
        0.75,
        "`warmup` steps, and then the `steps` that count: the device is waited for after either, and not in between",
        STEPS,
        on=lacking("alone"),
    ),
    Criterion(
        "rate",
        0.75,
        "all ranks return the images of all of them in the steps that count, over the time of the slowest",
        RATE,
        OTHER_RATES,
        on=lacking("alone"),
    ),
    Criterion(
        "together",
        0.5,
        "the ranks begin the steps that count together, and do not communicate between them",
        first_of(steps_made, nothing_between, together),
        on=lacking("alone"),
        after=("rate",),
    ),
    Criterion(
        "alone",
        0.5,
        "it also works alone, without a process group",
        first_of(STEPS, RATE),
        on=given("alone"),
        after=("steps", "rate"),
    ),
    DeviceCriterion(0.5, "what the ranks reduce is on `device`"),
    repeats=False,
    gpu_case=gpu_case,
    errors=Errors(
        """
        group-needed: Without a process group your function fails: {error}
        """,
        on=lambda run: run.broken["alone"],
        group_needed="process group",
    ),
    consolidation="A rate is about what is done, so the clock begins when all are ready and stops when the slowest is "
    "done. Whatever you do between two steps, you measure.",
)
