"""The check of `sgd_path`: few samples, so that each step tells which of them it used, however they were shuffled."""

from dataclasses import replace
from itertools import product

from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Path,
    Rounding,
    Words,
    argument_unchanged,
    each_sample_once,
    new_orders,
    of_call,
    once,
    orders_by_seed,
)

from ..probes import sgd_path
from ..shared.line import sample_gradients
from .mse_gradient import SLIPS, drawn_line
from .steps import TOLERANCE, explained, possible_batches

NEAR = Rounding(TOLERANCE)

words = Words("""
wrong-step: Step {step} changes (m, n) by {moved}. No batch of the samples does that: with all {n} samples in one batch,
the step would be {whole}. Is each gradient taken at the point where its step begins, and do m and n change together?

whole-set-each-step: The batch size is {batch_size}, but each step uses all {n} samples.

wrong-batch-size: Epoch {epoch} has batches of {sizes} samples; the batch size is {batch_size}.
""")
start, size, epochs = map(of_call, ("start", "batch_size", "epochs"))


def number(call):
    """Of samples."""
    return len(call.arguments["x"])


def numbers_of_steps(call):
    """Those that a path may have: with the smaller batch at the end of each epoch, and without, which is told later."""
    return [epochs(call) * -(-number(call) // size(call)), epochs(call) * (number(call) // size(call))]


@once
def choices(call):
    return possible_batches(number(call), size(call))


def steps_of(call, points):
    about = call.arguments
    return explained(about["x"], about["y"], points, about["lr"], size(call), choices(call))


def no_step(call, points, step):
    """The words for a step that no batch explains, beside the one that all samples together would give."""
    gradient = sample_gradients(call.arguments["x"], call.arguments["y"], [points[step]])[0].mean(0)
    moved = [after - before for before, after in zip(points[step], points[step + 1], strict=True)]
    told = (f"({m:.3g}, {n:.3g})" for m, n in (moved, (-call.arguments["lr"] * gradient).tolist()))
    return words("wrong-step", step=step, n=number(call), **dict(zip(("moved", "whole"), told, strict=True)))


def faults(call, path):
    """By criterion, what is wrong with one path, the same for several where they cannot be told apart; and by "slips",
    the known mistakes that all steps share."""
    judge = Path(lambda call: [path], start, numbers_of_steps, of_call("dtype"))
    wrong = judge.points(call)
    found = {"rows": judge(call), "form": judge.dtype_and_history(call) if path.rows else wrong}
    if wrong:
        return found | dict.fromkeys(("steps", "batches", "orders"), wrong)
    counted = judge.number(call)
    key = counted.key if counted else ""
    miscounted = counted if key == "wrong-number-of-rows" else None
    points = [tuple(start(call)), *path.rows] if key == "start-missing" else path.rows
    batches, slips, misfit = steps_of(call, points)
    if batches is None:
        return found | dict.fromkeys(("steps", "batches", "orders"), miscounted or no_step(call, points, misfit))
    found |= {"slips": slips, "steps": no_step(call, points, misfit) if slips else None}
    wrong, other_order = (miscounted, miscounted) if miscounted else visits(call, batches)
    return found | {"batches": wrong, "orders": other_order}


def visits(call, batches):
    """What is wrong with which samples the steps of a path used in each epoch, and with their order."""
    n, most = number(call), size(call)
    per_epoch = n // most if len(batches) == numbers_of_steps(call)[1] else -(-n // most)
    ends = range(per_epoch, len(batches) + 1, per_epoch) if per_epoch else [0]
    orders = [batches[end - per_epoch : end] for end in ends]
    if most < n and batches and all(batch == [*range(n)] for batch in batches):
        return [words("whole-set-each-step", n=n, **call.arguments)] * 2
    other_order = new_orders(orders) if most < n else None
    uneven = [epoch for epoch, order in enumerate(orders) if any(len(batch) != most for batch in order[:-1])]
    wrong = each_sample_once(orders, n)
    if wrong is None and uneven and not (other_order and other_order.key == "batches-not-cut-anew"):
        sizes = [len(batch) for batch in orders[uneven[0]]]
        wrong = words("wrong-batch-size", epoch=uneven[0], sizes=sizes, **call.arguments)
    return [wrong, other_order]


def of_run(call, run):
    """By criterion, the first thing that is wrong with paths of the same seed twice, and of another one."""
    found = {}
    for each in run:
        found = {name: wrong for name, wrong in faults(call, each.path).items() if wrong} | found
    if wrong := argument_unchanged(replace(call, changed=[each.changed for each in run])):
        found["form"] = wrong
    (first, again, other), (seed, _, another) = (each.path.rows for each in run), call.arguments["seeds"]
    if "orders" not in found and size(call) < number(call):
        wrong = orders_by_seed(NEAR(again, first), seed, seed) or orders_by_seed(NEAR(other, first), seed, another)
        found |= {"orders": wrong} if wrong else {}
    return found


@once
def best(call):
    """What is wrong where `mse_gradient` returns numbers of the kind with which most criteria hold."""
    return min((of_run(call, run) for run in call.seen[0].runs), key=len)


def torn(call):
    """Whether steps fit pairs of an x and a y of different samples; of larger batches than one nobody can tell."""
    wrong = best(call).get("steps")
    if wrong is None or wrong.key != "wrong-step" or best(call).get("slips"):
        return False
    if size(call) > 1:
        return None
    x, y = zip(*product(call.arguments["x"], call.arguments["y"]), strict=True)
    rows = call.seen[0].runs[0][0].path.rows
    return explained(x, y, rows, call.arguments["lr"], 1, possible_batches(len(x), 1))[0] is not None


def slip(key):
    """A sign: whether all steps of a path share this mistake."""
    return lambda call: key in best(call).get("slips", ())


def cases(rng):
    """Uneven batches; single samples; one batch larger than the set; both precisions; seed 0 and others. Where a sum is
    over `batch_size`, twice or squared, it is not over all samples."""

    def call(samples, batch_size, epochs, dtype="float64", seed=None):
        drawn, other = rng.sample(range(1, 100_000), 2)
        seed = drawn if seed is None else seed
        about = {"batch_size": batch_size, "epochs": epochs, "lr": rng.choice((0.04, 0.05, 0.07))}
        return drawn_line(rng, samples, dtype) | about | {"seeds": [seed, seed, other]}

    calls = [call(9, 4, 5, seed=0), call(12, 1, 4), call(5, 8, 3, "float32"), call(12, 5, 4, "float32")]
    return [(None, *calls, call(12, 3, 5, seed=0), call(13, 1, 4, "float32"))]


def criterion(name, points, says, *mistakes, after=()):
    return Criterion(name, points, says, lambda call: best(call).get(name), *mistakes, after=after)


OF_STEPS = Mistakes(
    f"""
    gradient-carried-over: The gradient of the step before is still part of each gradient: `backward` adds to what is
    there. When does your code start from zero?

    {SLIPS}

    last-batch-divided-by-batch-size: The gradient of a batch with fewer than {{batch_size}} samples is divided by
    {{batch_size}}, too. A mean is over the samples in the batch.

    divided-by-all: The sum over each batch is divided by all samples, not by those in the batch.

    mean-divided-again: Each step is {{batch_size}} times too short. A mean is divided by the number of samples already:
    what else divides by it?

    x-y-torn: The steps fit pairs of an x and a y that belong to different samples: x and y are shuffled separately.
    """,
    gradient_carried_over=slip("gradient-carried-over"),
    wrong_sign=slip("wrong-sign"),
    factor_two=slip("factor-two"),
    sum_not_mean=slip("sum-not-mean"),
    last_batch_divided_by_batch_size=slip("last-batch-divided-by-batch-size"),
    divided_by_all=slip("divided-by-all"),
    mean_divided_again=slip("mean-divided-again"),
    x_y_torn=torn,
)
STEP = "each step is minus `lr` times the gradient of the mean loss over its batch"
VISITS = (
    "each epoch visits each sample once, in batches of `batch_size`; samples left over form one more, smaller batch"
)
ORDERS = "each epoch has a new random order. Same seed, same path; another seed, other batches"
CHECK = CallCheck.of(
    "sgd_path",
    sgd_path.PROBE,
    cases,
    criterion("rows", 0.5, "row 0 is `start`, row k the point after k steps"),
    criterion("steps", 1, STEP, OF_STEPS),
    criterion("batches", 1, VISITS, after=("steps",)),
    criterion("orders", 1, ORDERS, after=("steps",)),
    criterion("form", 0.5, "x and y stay as they are; the path has the dtype of x and no autograd history"),
    inputs=("batch_size", "epochs"),
    repeats=False,  # each call has other samples, and the same seed twice
    # A path for each seed, in one run at least.
    fits=lambda case, call, seen: seen.runs and all(len(run) == len(call["seeds"]) for run in seen.runs),
    consolidation="Every epoch visits each sample once, in a new order that follows from the seed. The run is random, "
    "and can be repeated to the last digit all the same.",
)
