"""The check of `distributed_path`: the samples that ranks give to `distributed_gradient`, and the path they lead to."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Path,
    Rounding,
    Same,
    Words,
    argument_unchanged,
    changed,
    first_of,
    nothing_starts_or_ends,
    of_path,
    of_record,
    of_seen,
)

from ..probes import distributed_path
from ..shared.samples import rate_of, samples
from .batches import SHARES, asked_twice, fair_shares, never_asked, shared_orders, unions_of

NEAR = Rounding(1e-10)

words = Words("""
own-start: The ranks' paths begin at different points: rank 0 at {first}, rank {rank} at {other}. Each rank's `start` is
different, and rank 0's counts. How does it get to the others?

paths-differ: The ranks begin at one point, and then their paths differ: after {step:step} rank 0 is at {first}, rank
{rank} at {other}. What is not the same in their steps?

last-bits-differ: The ranks' paths differ in their last digits. Do all ranks compute with the very same numbers?

other-path: With the batches that the ranks used, step {step} should lead from {here} to {due}. Your path goes to
{there}.

gradient-asked-twice: In {steps:step}, your function calls `distributed_gradient` {n:time}, twice in each step. One call
returns both numbers, dm and dn, for the point at which the step begins.

more-than-broadcasts: Your function itself calls {ops}, besides `distributed_gradient`. What do the ranks have to agree
on that they do not know already?

broadcast-every-step: Rank {rank} broadcasts after the first step. If the ranks start at the same point and take the
same steps, where are they then?
""")


def in_words(point):
    return f"({point[0]:.6g}, {point[1]:.6g})"


def rows(call):
    return call.seen[0].path.rows


def replay(call, times=1, asked=None):
    """The path of one process that uses the batches which the ranks used, with steps `times` as long; where samples are
    unknown, the path as it is. asked: of a step, and how many an epoch has, the step whose rate it takes."""
    unions, rate, (x, y) = unions_of(call), rate_of(call.arguments), samples(call.arguments)
    if any(-1 in union for union in unions):
        return rows(call)
    (m, n), per_epoch = call.arguments["start"][0], max(1, len(unions) // call.arguments["epochs"])
    path = [(m, n)]
    for step, union in enumerate(unions):
        error = 2 * (m * x[union] + n - y[union])
        dm, dn = ((error * x[union]).mean(), error.mean()) if union else (0.0, 0.0)
        long = times * rate(asked(step, per_epoch) if asked else step)
        m, n = float(m - long * dm), float(n - long * dn)
        path.append((m, n))
    return path


def at_steps(*asked):
    """Forms of a mistake: for which step the rate is asked."""
    return [lambda call, each=each: replay(call, asked=each) for each in asked]


MISTAKES = Mistakes(
    """
    rate-one-step-on: The steps are as long as `rate(k + 1)` says, not `rate(k)`. The first step is step 0.

    rate-of-the-epoch: The steps are as long as `rate` says for the number of the epoch. It asks for the number of the
    step, which goes on counting from epoch to epoch.

    rate-within-the-epoch: The steps are as long as `rate` says where steps are counted from 0 again in each epoch. The
    count goes on from epoch to epoch.

    rate-never-asked-again: All steps use `rate(0)`. The learning rate may be another one in each step.

    rate-times-ranks: Each step is {size} times as long as it should be. `rate` already says how long: how many ranks
    there are is its own affair.

    rate-over-ranks: Each step is {size} times too short. `distributed_gradient` returns the gradient of the whole
    batch: nothing is left to be divided.

    uphill: Each step goes with the gradient, which points uphill.
    """,
    changed(
        replay,
        rate_one_step_on=at_steps(lambda step, per_epoch: step + 1),
        rate_of_the_epoch=at_steps(lambda step, of: step // of, lambda step, of: step // of + 1),
        rate_within_the_epoch=at_steps(lambda step, of: step % of),
        rate_never_asked_again=at_steps(lambda step, of: 0),
        rate_times_ranks={"times": lambda call: call.size},
        rate_over_ranks={"times": lambda call: 1 / call.size},
        uphill={"times": -1},
    ),
)


def parted(call):
    paths = [path.rows for path in call.of("path")]
    for rank, path in enumerate(paths):
        if path != paths[0] and NEAR(path, paths[0]):
            return words("last-bits-differ")
        if path != paths[0]:
            step = next(step for step, row in enumerate(path) if row != paths[0][step])
            about = {"first": in_words(paths[0][step]), "other": in_words(path[step]), "rank": rank, "step": step}
            return words("paths-differ" if step else "own-start", **about)
    return None


def other_path(call, difference):
    step = difference.place[0] if difference.place else 0
    if difference.what != "value" or difference.single or not step:
        return None
    points = {"here": rows(call)[step - 1], "due": replay(call)[step], "there": rows(call)[step]}
    return words("other-path", step=step - 1, **{name: in_words(point) for name, point in points.items()})


@of_record
def communication(call):
    """One gradient a step; besides, broadcasts alone, and these before the first step."""
    n = len(call.seen[0].shares)
    if asked_twice(call):
        return words("gradient-asked-twice", n=n, steps=n // 2)
    for rank, log in enumerate(call.events):
        gradients = [event for event in log if event["library"] == "mpi4py" and event["op"] == "allgather"][:n]
        others = [event for event in log if event not in gradients]
        if ops := {f"{event['library']}'s {event['op']}" for event in others if event["kind"] != "broadcast"}:
            return words("more-than-broadcasts", ops=sorted(ops))
        if gradients and any(event["start"] > gradients[0]["start"] for event in others):
            return words("broadcast-every-step", rank=rank)
    return None


def empty_shares(arguments):
    """Whether a batch has fewer samples than there are ranks."""
    n, most = arguments["samples"], arguments["batch_size"]
    return min(n, most, n % most or most) < len(arguments["start"])


def full_shares(arguments):
    return not empty_shares(arguments)


PATH = Path(of_seen("path"), lambda call: call.arguments["start"][0], lambda call: [len(unions_of(call))])
OF_ONE_PROCESS = Same(rows, replay, of_path, NEAR, otherwise=other_path)
AS_ONE_PROCESS = first_of(never_asked, PATH, parted, PATH.dtype_and_history, OF_ONE_PROCESS)
WITH_EMPTY = first_of(never_asked, fair_shares, shared_orders, PATH, parted)
ALONE = first_of(communication, argument_unchanged, nothing_starts_or_ends)


def cases(rng):
    """Batches that divide evenly and not, and with more samples than there are; then with fewer than ranks."""

    def case(size, *described):
        calls = []
        for n, batch_size, epochs in described:
            about = {"samples": n, "batch_size": batch_size, "epochs": epochs, "local_size": 2}
            about |= {"start": [[rng.uniform(-2, 2), rng.uniform(-2, 2)] for _ in range(size)]}
            about |= {"data": rng.getrandbits(32), "rate": rng.uniform(0.03, 0.06)}
            seed = rng.randrange(1, 10**6)
            once_more = [(seed, seed), (seed + 1, seed)] if not calls else []
            calls += [about | {"seed": one, "previous_seed": other} for one, other in ((seed, None), *once_more)]
        return size, *calls

    return [
        case(2, (9, 3, 3)),
        case(4, (22, 6, 3), (7, 20, 2)),
        case(3, (11, 4, 3), (8, 20, 2)),
        case(1, (9, 4, 2)),
        case(4, (18, 4, 3), (13, 5, 2)),
        case(3, (10, 2, 2), (2, 5, 1)),
    ]


FAIR = "the shares of a batch differ by one at most, so that all ranks have as much to do"
NEW = "each epoch visits each sample once, in a new random order that all ranks share"
CALLS = "on each rank, x and y stay as they are; besides the gradients there are only broadcasts, before the first step"
ROWS = "row 0 is the start, row k the point after k steps"
EMPTY = "it also works where shares are empty"
CHECK = CallCheck.of(
    "distributed_path",
    distributed_path.PROBE,
    cases,
    Criterion("shares", 0.75, FAIR, first_of(never_asked, fair_shares), SHARES, on=full_shares),
    Criterion("orders", 1.25, NEW, first_of(never_asked, shared_orders), on=full_shares, after=("shares",)),
    Criterion("path", 1, ROWS, AS_ONE_PROCESS, MISTAKES, on=full_shares),
    Criterion("calls", 0.5, CALLS, first_of(communication, argument_unchanged, nothing_starts_or_ends), on=full_shares),
    Criterion("empty-shares", 0.5, EMPTY, WITH_EMPTY, on=empty_shares, after=("shares", "orders", "path")),
    repeats=False,  # the seed is the student's, and calls with another one are among the cases
    inputs=("samples", "batch_size", "epochs"),
    # Samples have numbers from 0 on, or -1.
    fits=lambda case, call, seen: all(-1 <= each < call["samples"] for own in seen.shares for each in own),
    consolidation="Ranks that start alike and average their gradients stay alike, without sending a single parameter "
    "again: together they are one process with the whole batch.",
)
