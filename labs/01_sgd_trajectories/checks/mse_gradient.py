"""The check of `mse_gradient`: the gradient that autograd finds, without autograd."""

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    HasNumbers,
    Mistakes,
    Rounding,
    Words,
    argument_unchanged,
    changed,
    first_of,
    in_words,
)

from ..probes import mse_gradient
from ..shared.line import sample_gradients

words = Words("""
not-two-numbers: Two numbers, dm and dn, are expected for a batch of {n}. You return {kind}.

uses-backward: {how}, so it uses autograd. A formula does not need it.
""")
# Mistakes that the steps of `sgd_path` show, too.
SLIPS = """
factor-two: You return half of the expected gradient: that of half the squared error. What does the square give when you
differentiate it?

wrong-sign: The gradient points the other way: a step against it leads uphill.

sum-not-mean: The gradient is that of a sum over samples, not of their mean: it grows with their number. What should it
be divided by?
"""


def drawn_line(rng, samples, dtype="float64"):
    """Samples `x`, `y` scattered about a random line, and a point `start` = [m, n] at some distance from it. They fit
    into float32, and residuals are of the size of 1, so that no two samples pull alike."""
    line = rng.uniform(-2, 2), rng.uniform(-2, 2)
    x = [float(np.float32(rng.uniform(-1.5, 2.5))) for _ in range(samples)]
    y = [float(np.float32(line[0] * value + line[1] + rng.uniform(-1, 1))) for value in x]
    start = [round(part * 8) / 8 + rng.choice((-1, 1)) * rng.randrange(8, 17) / 8 for part in line]
    return {"x": x, "y": y, "start": start, "dtype": dtype}


def numbers(call, times=1.0, by_m=0, by_n=1):
    """The gradient, so many `times` as large; dm and dn are these columns of it."""
    about = call.arguments
    columns = (times * sample_gradients(about["x"], about["y"], [about["start"]])[0].mean(0)).tolist()
    return {"dm": columns[by_m], "dn": columns[by_n]}


def samples(call):
    return len(call.arguments["x"])


def right_direction(call):
    """Whether both numbers are too large, or too small, by the same factor."""
    seen, due = call.seen[0].numbers, numbers(call)
    by_m, by_n = ((seen[name].value or 0.0) / due[name] if name in seen and due[name] else 0.0 for name in due)
    return by_m != 0 and abs(by_m - by_n) <= 1e-4 * abs(by_m) and {"factor": by_m, "n": samples(call)}


def two_numbers(call):
    [seen] = call.seen
    if seen.kind or any(each.value is None for each in seen.numbers.values()):
        kind = seen.kind or [*map(in_words, seen.numbers.values())]
        return words("not-two-numbers", kind=kind, n=samples(call))
    return None


def formula(call):
    """Autograd is neither needed nor turned on again."""
    [seen] = call.seen
    how = "It leaves torch.inference_mode() and has torch record operations" if seen.recorded else ""
    how = f"Inside torch.inference_mode() it raises {seen.raised}. Outside it works" if seen.raised else how
    return words("uses-backward", how=how) if how else None


def cases(rng):
    """Random points, batches of several sizes and of a single sample, in both precisions."""
    batches = [(7, "float64"), (5, "float32"), (1, "float64"), (9, "float64"), (1, "float32")]
    lines = [drawn_line(rng, *each) for each in batches]
    return [(None, *(line | dict(zip("mn", line["start"], strict=True)) for line in lines))]


MISTAKES = Mistakes(
    f"""
    {SLIPS}

    swapped: The numbers dm and dn have changed places.

    x-forgotten: dm has the value expected for dn. How far does a change of m move the line at x?

    x-twice: dn has the value expected for dm. How far does a change of n move the line at x?

    right-direction: Both parts of your gradient are {{factor:.4g}} times what is expected, with a batch of {{n}}: it
    has the right direction. By what number do you divide the sum over the samples?
    """,
    changed(
        numbers,
        factor_two={"times": 0.5},
        swapped={"by_m": 1, "by_n": 0},
        x_forgotten={"by_m": 1},
        x_twice={"by_n": 0},
        wrong_sign={"times": -1.0},
        sum_not_mean={"times": samples},
    ),
    right_direction=right_direction,
)
GRADIENT = HasNumbers(numbers, told=("m", "n"), rounding=Rounding(1e-4))
CHECK = CallCheck.of(
    "mse_gradient",
    mse_gradient.PROBE,
    cases,
    Criterion(
        "gradient",
        1.25,
        "the gradient (dm, dn) is that of the mean squared error",
        first_of(two_numbers, GRADIENT),
        MISTAKES,
    ),
    Criterion("formula", 0.5, "it is computed by a formula, without autograd", formula),
    Criterion("arguments", 0.25, "x and y stay as they are", argument_unchanged),
    repeats=False,  # each call has other samples
    consolidation="The gradient of a mean is the mean of the samples' gradients. So any batch gives an estimate of the "
    "gradient of all samples, and a larger batch gives a better one.",
)
