"""The judge of the rate that is returned, and what known mistakes return."""

from autograde.rubric import Comparing, EachRankReturns, Mistakes, Rounding, Words, changed

from ..probes.clocks import APART
from .timed import idle, ranks

TOLERANCE, WIDEST = 0.08, 0.4  # relative: what a busy machine may put between a step and the clock around it
INSTANT = 1e-9  # seconds, in place of none
MANY = 5  # times as much as expected: as if only computing had been timed

words = Words("""
rates-differ: The ranks return {values}: nearly the same, and yet each has its own. One number is expected, from the
time of the slowest rank.
""")


def seconds(call, warm_up=False):
    """How long the steps that count take on each rank, or with the warm-up before them."""
    return [max(INSTANT, own.end - (own.steps[0][0] if warm_up else own.begin)) for own in ranks(call)]


def rate(call, took=max, of=None, steps=None, warm_up=False):
    """Images a second. took: of the ranks' times, which it is. of: how many ranks' images, and steps: of how many
    steps, if not all."""
    of, steps = of or call.size, steps or call.arguments["steps"]
    return of * call.arguments["images"] * steps / took(seconds(call, warm_up))


def before_the_others(call):
    """Where each rank's clock begins when it is ready itself, after its warm-up."""
    waits = [(own, own.waits_between(own.warmup - 1, own.warmup)) for own in ranks(call)]
    took = [own.end - max((end for _, end in each), default=own.begin) for own, each in waits]
    return rate(call, took=lambda times: max(INSTANT, *took))


def tolerance(call):
    return min(WIDEST, TOLERANCE + 2 * idle(call) / min(seconds(call)))


def clocks_compared(call):
    return rate(call, took=lambda times: APART * (call.size - 1)) if call.size > 1 else None


class Rate(Comparing):
    """All ranks return the rate, as near as clocks on this machine are."""

    def seen(self, call):
        return call.of("value")

    def gives(self, call, value):
        near, due = Rounding(tolerance(call)), value if isinstance(value, list) else [value] * call.size
        return all(near(number.value, one) for number, one in zip(self.seen(call), due, strict=True))

    def __call__(self, call):
        wrong = EachRankReturns(rate, rounding=Rounding(tolerance(call)))(call)
        if wrong is None or wrong.key != "last-digits-differ":
            return wrong
        return words("rates-differ", values=", ".join(f"{each.value:.6g}" for each in self.seen(call)))


def counting_begun(call):
    """Whether all ranks came to the steps that count; else there is no time that anything could be compared with."""
    return all(len(own.steps) > own.warmup for own in ranks(call))


def waiting_not_counted(call):
    numbers = [each.value for each in call.of("value")]
    return counting_begun(call) and None not in numbers and min(numbers) > MANY * rate(call)


WRONG_RATES = changed(
    rate,
    warm_up_timed=[
        {"warm_up": True},
        {"warm_up": True, "steps": lambda call: call.arguments["warmup"] + call.arguments["steps"]},
    ],
    one_steps_images={"steps": 1},
    seconds_returned=[
        lambda call: max(seconds(call)),
        lambda call: max(seconds(call)) / call.arguments["steps"],
        lambda call: 1 / rate(call),
    ],
    clock_before_the_others=before_the_others,
    clocks_compared=clocks_compared,
    own_clock_times_ranks=[
        lambda call: [rate(call) * max(seconds(call)) / own for own in seconds(call)],
        lambda call: [rate(call, of=1) * max(seconds(call)) / own for own in seconds(call)],
    ],
    sum_of_rates=lambda call: sum(rate(call, of=1) * max(seconds(call)) / own for own in seconds(call)),
    mean_of_times={"took": lambda call: lambda times: sum(times) / len(times)},
    fastest_rank={"took": lambda call: min},
    one_ranks_images={"of": 1},
)
OTHER_RATES = Mistakes(
    """
    warm-up-timed: The result is {actual:.5g}: the time of the warm-up is in it. Without it, {expected:.5g} images are
    done in a second.

    one-steps-images: The result is {actual:.5g}: the images of one step, over the time of all. {expected:.5g} is
    expected.

    seconds-returned: The result is {actual:.5g}, a time. Images a second are expected: {expected:.5g}.

    clock-before-the-others: The result is {actual:.5g}: the clock of a rank begins when it is ready itself, and it
    still has to wait for the last one. Where does the clock begin, and where do the ranks meet? {expected:.5g} is
    expected.

    clocks-compared: The result is {actual:.5g}, from the clock of one rank minus that of another. Ranks on two nodes
    have clocks that begin at any time, here an hour apart. Subtract what one clock shows; {expected:.5g} is expected.

    own-clock-times-ranks: Each rank returns a rate of its own, from its own clock: {values}. The images of all ranks
    are done when the slowest one is: {expected:.5g}.

    sum-of-rates: The result is {actual:.5g}, the sum of the ranks' own rates. In training the others wait for the
    slowest rank: counted until it is done, all ranks together make {expected:.5g} images a second.

    mean-of-times: The result is {actual:.5g}, from the mean of the ranks' times. The steps are done when the slowest
    rank is: {expected:.5g} is expected.

    fastest-rank: The result is {actual:.5g}, from the time of the fastest rank. The steps are done when the slowest one
    is: {expected:.5g} is expected.

    one-ranks-images: The result is {actual:.5g}: the images of one rank. All {size} ranks together make {expected:.5g}
    a second.

    waiting-not-counted: The result is {actual:.5g}, many times as much as expected, which is {expected:.5g}. Does your
    clock go on while the processor has nothing to do? That of `process_time` does not.
    """,
    lambda call: WRONG_RATES(call) if counting_begun(call) else {},
    waiting_not_counted=waiting_not_counted,
)
