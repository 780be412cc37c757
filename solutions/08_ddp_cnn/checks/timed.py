"""Judges of the steps and waits of ranks that measure, and of what they do between them."""

from autograde.rubric import Words, of_record, once

from ..probes.slow_device import FIRST
from ..shared.timeline import HELD_UP, Timeline, held_up

TOGETHER = 0.05  # seconds; without a meeting after the warm-up, ranks begin further apart

words = Words("""
steps-not-made: On {who} there are {made} steps; expected are {warmup} for the warm-up and {steps} that count.

no-warm-up: There are {made} steps, and all of them count: the first one takes {first:g} times longer here, as the first
steps of a training do. `warmup` = {warmup} of them come before.

clock-before-device: On {who} nothing waits for the device after the last step. `step()` has returned, and the device is
still working: the clock stops too early.

warm-up-still-running: On {who} nothing waits for the device between the warm-up and the steps that count: they begin
while it still works on the warm-up, and the clock runs.

waits-between-steps: On {who} your function waits for the device between the steps that count. Each wait takes time, and
the device has nothing to do until the next step begins. When is one wait enough?

communicates-between-steps: Between the steps that count, the ranks call {op}. Then each step waits for the slowest
rank, and the call itself takes time, too. That is measured, and it is not the training.

not-together: The ranks do not begin the steps that count together: {who} begins {seconds:.0f} ms before the last one.
When is the warm-up over on all ranks?
""")


@once
def ranks(call):
    return [Timeline(log, call.arguments) for log in call.notes]


def idle(call):
    """Seconds in which a rank may have waited for a core: 0 where that is not known to be long."""
    seconds = held_up(ranks(call), call.of("machine"))
    return seconds if seconds > HELD_UP else 0.0


def steps_made(call):
    counts, about = [len(own.steps) for own in ranks(call)], call.arguments
    about = {"warmup": about["warmup"], "steps": about["steps"]}
    wrong = [rank for rank, count in enumerate(counts) if count != sum(about.values())]
    if wrong and {*counts} == {about["steps"]}:
        return words("no-warm-up", made=counts[0], first=FIRST, **about)
    return words.on_ranks("steps-not-made", wrong[:1], made=counts[wrong[0]], **about) if wrong else None


def without(key, waits):
    """What is wrong on ranks that have none of these waits."""
    return words.on_ranks(key, [rank for rank, own in enumerate(waits) if not own])


def waited_after(call):
    waits = [own.waits_between(-1) for own in ranks(call)]
    return without("clock-before-device", waits) if call.arguments["on_its_own"] else None


def waited_between(call):
    waits = [own.waits_between(own.warmup - 1, own.warmup) for own in ranks(call)]
    return without("warm-up-still-running", waits) if call.arguments["on_its_own"] else None


def not_waited_within(call):
    some = [rank for rank, own in enumerate(ranks(call)) if own.waits_between(own.warmup, -1)]
    return words.on_ranks("waits-between-steps", some)


@of_record
def nothing_between(call):
    for own in ranks(call):
        for event in own.calls:
            if own.begin < event["start"] < own.steps[-1][0]:
                return words("communicates-between-steps", op=event["op"])
    return None


def together(call):
    """Of ranks with one clock."""
    begins = [own.begin for own in ranks(call)]
    apart = max(begins) - min(begins)
    if len({*call.of("machine")}) > 1 or apart <= TOGETHER + idle(call):
        return None
    return words.on_ranks("not-together", [begins.index(min(begins))], seconds=1000 * apart)
