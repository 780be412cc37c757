"""The check of `fit_scaling`: the sum of squared errors of the parts that it returns, however that was made small."""

from itertools import permutations

import numpy as np
from scipy.optimize import nnls

from autograde.rubric import CallCheck, Comparing, Criterion, Mistakes, Rounding, Words, changed, first_of

from ..probes import fit_scaling

ABOVE = 1e-6  # relative: how much larger than the least a sum of squared errors may be
SMALL = 1e-12  # of the squares of all times: a sum of squared errors that is nothing but rounding
NEGATIVE = 1e-9  # relative to the times: a part that is not negative but for rounding
NAMES = ("T_par", "T_seq", "T_comm")

words = Words("""
not-three-floats: Your function returns {kind}. Three floats are expected: T_par, T_seq and T_comm.

lists-changed: After the call, the lists are not what they were before. Whoever called your function still needs them.

negative-part: {name} is {value:.4g} s, and a time is never negative. The free fit has the least errors of all, but no
meaning here.

wrong-fit: For {ranks} ranks and {times} s, your parts are {actual}; the sum of their squared errors is {errors:.4g}.
The least that parts without a negative one can have is {least:.4g}.
""")


def columns_of(ranks, one=1):
    """What T_par, T_seq and T_comm are multiplied by, [measurements, 3]. one: what is taken from N in the last."""
    n = np.array(ranks, dtype=float)
    return np.stack([1 / n, np.ones_like(n), n - one], axis=1)


def squared_errors(call, parts):
    return float(((columns_of(call["ranks"]) @ np.array(parts) - np.array(call["seconds"])) ** 2).sum())


def best(call, ranks=None, seconds=None, one=1, relative=False, order=(0, 1, 2)):
    """The parts with the least squared errors. call: its arguments. ranks, seconds: in place of those given, what of
    them is fitted. one: see `columns_of`. relative: errors in parts of the time. order: in which they are returned."""
    columns = columns_of(ranks(call) if ranks else call["ranks"], one)
    times = np.array(seconds(call) if seconds else call["seconds"])
    if relative:
        columns, times = columns / times[:, None], np.ones(len(times))
    parts = nnls(columns, times)[0].tolist()
    return [parts[place] for place in order]


def free(call):
    """The parts with the least squared errors, whatever their signs."""
    return np.linalg.lstsq(columns_of(call["ranks"]), np.array(call["seconds"]), rcond=None)[0].tolist()


def sizes(call):
    return sorted({*call["ranks"]})


def means(call):
    pairs = [*zip(call["ranks"], call["seconds"], strict=True)]
    return [float(np.mean([time for n, time in pairs if n == size])) for size in sizes(call)]


def speed_ups(call):
    return [call["seconds"][call["ranks"].index(min(call["ranks"]))] / time for time in call["seconds"]]


def first_three(call):
    """Through them goes a line, if they are of three N."""
    three = {"ranks": call["ranks"][:3], "seconds": call["seconds"][:3]}
    return best(three) if len({*three["ranks"]}) == 3 else None


def three_floats(call):
    parts = call.seen[0].parts
    other = [each.kind for each in parts.numbers if each.value is None]
    kind = f"{other[0]} among the three" if other else parts.kind
    return words("not-three-floats", kind=kind) if kind else None


def not_negative(call):
    limit = -NEGATIVE * max(call.arguments["seconds"])
    pairs = zip(NAMES, call.seen[0].parts.numbers, strict=True)
    below = [(name, each.value) for name, each in pairs if each.value < limit]
    return words("negative-part", name=below[0][0], value=below[0][1]) if below else None


def lists_stay(call):
    return words("lists-changed") if call.seen[0].changed else None


class Least(Comparing):
    """Judge of the sum of squared errors: it is the least that parts without a negative one can have."""

    alike = Rounding(1e-4, least=0.01)

    def seen(self, call):
        return [each.value for each in call.seen[0].parts.numbers]

    def __call__(self, call):
        given, parts = call.arguments, self.seen(call)
        errors, least = squared_errors(given, parts), squared_errors(given, best(given))
        if errors <= least * (1 + ABOVE) + SMALL * max(given["seconds"]) ** 2:
            return None
        about = {"ranks": given["ranks"], "times": [round(each, 4) for each in given["seconds"]], "least": least}
        about |= {"actual": [float(f"{each:.4g}") for each in parts], "errors": errors, "count": len(given["ranks"])}
        return words("wrong-fit", compared=True, **about)


def of(function):
    """A function of a call's arguments, as one of the call."""
    return lambda call: function(call.arguments)


def fits(**how):
    return of(lambda call: best(call, **how))


MISTAKES = Mistakes(
    """
    clipped-after-the-fit: The parts are those of the free fit, in which one is negative, with zero in its place. The
    other two were fitted beside the negative one: with zero there, others fit better.

    n-for-n-minus-1: The parts are those of T_comm N in the place of T_comm (N - 1). What should a single rank
    communicate?

    sorted-apart: The parts fit ranks and seconds that were sorted, each list by itself. In any order, a time belongs to
    the N at the same place.

    numbered: The parts fit 1, 2, 3 and so on in the place of `ranks`. Where an N is left out or comes twice, that is
    another number.

    other-order: The three numbers are right, in another order. T_par, T_seq, T_comm are expected.

    speed-up-fitted: The parts have the least errors in the *speed-up*, T(1) / T(N). Errors in seconds are to be made
    small.

    relative-errors: The parts have the least *relative* errors. All measurements count alike, in seconds.

    means-fitted: The parts fit the mean time of each N. Where an N was measured more often, each of its measurements
    counts.

    three-points-only: The parts fit three of the {count} measurements, and not the others. With more than three, no
    line goes through all.
    """,
    changed(
        clipped_after_the_fit=of(lambda call: [max(0.0, part) for part in free(call)]),
        n_for_n_minus_1=fits(one=0),
        sorted_apart=[
            fits(ranks=lambda call: sorted(call["ranks"]), seconds=lambda call: sorted(call["seconds"])),
            fits(ranks=lambda call: sorted(call["ranks"])),
            fits(seconds=lambda call: sorted(call["seconds"])),
        ],
        numbered=fits(ranks=lambda call: range(1, len(call["ranks"]) + 1)),
        other_order=[fits(order=each) for each in permutations(range(3)) if each != (0, 1, 2)],
        speed_up_fitted=fits(seconds=speed_ups),
        relative_errors=fits(relative=True),
        means_fitted=fits(ranks=sizes, seconds=means),
        three_points_only=of(first_three),
    ),
)


def cases(rng):
    """Times with some noise: all parts there; the free fit negative; an N several times; in any order; no noise."""
    calls = [draw_times(rng, [1, 2, 3, 4, 8]), draw_times(rng, [1, 2, 4, 8], negative=True)]
    calls += [draw_times(rng, [1, 2, 2, 4, 6]), draw_times(rng, [2, 4, 8, 16, 64], negative=True)]
    calls += [draw_times(rng, [1, 1, 1, 3, 4, 6]), draw_times(rng, [1, 2, 3], noise=0.0)]
    return [{"size": 1, "calls": calls}]


def draw_times(rng, ranks, negative=False, noise=0.03):
    """Times on these ranks, in any order. negative: whether a part of the free fit is. noise: relative."""
    spread = 0.1 if negative else noise
    while True:
        par, seq, comm = rng.uniform(0.5, 4), rng.uniform(0.05, 0.3), rng.uniform(0.02, 0.05) * (not negative)
        own = rng.sample(ranks, len(ranks))
        seconds = [(par / n + seq + comm * (n - 1)) * (1 + rng.uniform(-spread, spread)) for n in own]
        drawn = {"ranks": own, "seconds": seconds}
        if not noise or told_apart(drawn, negative):
            return drawn


def told_apart(call, negative):
    """Whether the free fit has a negative part that matters, or none; and what other fits give is not as good."""
    least = squared_errors(call, best(call))
    others = [best(call, relative=True)]
    others += [best(call, ranks=sizes, seconds=means)] if len(sizes(call)) < len(call["ranks"]) else []
    if any(squared_errors(call, each) < 1.001 * least for each in others):
        return False
    clipped = squared_errors(call, [max(0.0, part) for part in free(call)])
    return min(free(call)) < -1e-4 and clipped > 1.01 * least if negative else min(free(call)) > 1e-3


CHECK = CallCheck.of(
    "fit_scaling",
    fit_scaling.PROBE,
    cases,
    Criterion("parts", 0.5, "three floats are returned", three_floats),
    Criterion("signs", 0.5, "none of them is negative", first_of(three_floats, not_negative)),
    Criterion(
        "fit",
        1.5,
        "of all such three, they have the least sum of squared errors, in seconds",
        first_of(three_floats, not_negative, Least()),
        MISTAKES,
    ),
    Criterion("lists", 0.5, "`ranks` and `seconds` stay as they are", first_of(three_floats, lists_stay)),
    repeats=False,
    consolidation="A fit knows only what its model can say: times on 1 to N ranks cannot tell the bytes of an "
    "all-reduce from work that nobody shares. Bounds that follow from the meaning belong in the fit, not after it.",
)
