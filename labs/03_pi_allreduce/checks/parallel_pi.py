"""The checks of `parallel_pi`, `parallel_pi_torch` and `parallel_pi_horovod`, which add up pi on all ranks."""

import math
from functools import partial

from autograde.contract.evidence import Number
from autograde.contract.gpu import ON_OTHER_GPUS
from autograde.rubric import (
    DIGITS,
    HALF_PRECISION,
    SINGLE,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Due,
    EachRankReturns,
    Errors,
    Mistakes,
    Rounding,
    Words,
    changed,
    fair,
    first_of,
    midpoints_once,
    nothing_starts_or_ends,
    one_allreduce,
    result_of_reduction,
    share_mistakes,
)
from course.models.midpoints import midpoint_sum, midpoints

from ..probes.parallel_pi import PROBES
from ..shared.parts import curve, share_of, weights_of

NEAR = Rounding()

words = Words("""
everything-on-every-rank: Each of {size:rank} works out the whole integral, which takes as long as on one rank alone.
Which part is a rank's own?
""")


def integral(call, times=1):
    """The sum over all midpoints, times a number."""
    return midpoint_sum(curve, call.arguments["intervals"]) * times


def right(call):
    """Whether all ranks returned it."""
    return all(NEAR(number.value, integral(call)) for number in call.of("value"))


def put_in(call):
    """By rank, the first number that it put into its last call."""
    return [(log[-1]["values"] or [None])[0] if log else None for log in call.events]


def own_points(call):
    """By rank, the points at which it calls f, and the midpoints of the shares that it asks for, which are dealt out in
    turn; None for a share that there is not."""
    n = call.arguments["intervals"]

    def of_share(asked, rank, of):
        return midpoints(n, range(rank, n, of)) if asked == n and 0 <= rank < of else [None]

    # Who asks for more shares than there are midpoints asks for some more than once, or for more than there are.
    return [[*seen.points, *(x for each in seen.shares[: n + 1] for x in of_share(*each))] for seen in call.seen]


def own_share(call):
    """Each midpoint is in one rank's share, and the shares are fair. Where nothing is seen of them, no rank brings all
    of the sum to its one call."""
    if any(call.of("used")) or any(call.of("shares")):
        points = own_points(call)
        return midpoints_once(call.arguments["intervals"], points) or fair(points)
    once_each = call.size > 1 and all(len(log) == 1 for log in call.events)
    whole = once_each and all(NEAR(each, integral(call)) for each in put_in(call))
    return words("everything-on-every-rank", size=call.size) if whole else None


def asks(is_such):
    """A sign: whether a rank asks for a share of which this is so; with the share, for words. is_such: of a call, and
    the share's intervals, rank and number of ranks."""

    def sign(call):
        found = [share for seen in call.seen for share in seen.shares if is_such(call, *share)]
        return dict(zip(("asked", "number", "of"), found[0], strict=True)) if found else False

    return sign


def share_of_local_rank(call):
    """Whether each rank asks for the share of its local rank; on one node nobody can tell."""
    n, on_node = call.arguments["intervals"], call.arguments["local_size"]
    asked = [[(n, rank % on_node, call.size)] for rank in range(call.size)]
    return call.of("shares") == asked if call.size > on_node else None


def due(call):
    """What is known of the right result; None if it is not right."""
    if not all(SINGLE(number.value, integral(call)) for number in call.of("value")):
        return None
    n, size = call.arguments["intervals"], call.size
    # What a result may be, times what came out: an average undone, parts without the width or the curve's 4.
    factors = {width * times * four for width in (1, 1 / n) for times in (1, size, 1 / size) for four in (1, 4)}
    # There may be ranks without an interval, as where shares are rounded up.
    least = min(0.05, 0.6 / n) if n >= size * (size - 1) else 0.0
    alone = integral(call) if right(call) else None  # in single precision, late digits tell nothing
    return Due(call.seen[0].value.value, factors, least, alone)


def parts(call):
    """By rank, the part of the sum that its points and its shares give; none if nothing is seen of them."""
    n, weights = call.arguments["intervals"], weights_of(call.arguments["seed"], call.size)

    def part(seen):
        own = [curve(x) / n for x in seen.points if x is not None]
        return math.fsum([*own, *(integral(call, share_of(weights, n, rank)) for _, rank, _ in seen.shares)])

    return [[*map(part, call.seen)]] if any(call.of("points")) or any(call.of("shares")) else []


def as_sent(call):
    """By rank, what it returns; what is as near as the numbers that the ranks communicate allow is right: of what dtype
    these have to be is judged with the reduction."""
    dtypes = {event["dtype"] for log in call.events for event in log}
    if (coarse := next((each for each in DIGITS if each in dtypes - {"float64"}), None)) is None:
        return call.of("value")
    kinds, near, right = ("float", coarse), Rounding.of(coarse), Number("float", True, integral(call))
    return [right if each.kind in kinds and near(each.value, right.value) else each for each in call.of("value")]


def next_to_nothing(call):
    """Whether all that the ranks put into their reduction is next to nothing of the area."""
    if None in (numbers := put_in(call)):
        return None
    little = max(map(abs, numbers)) < 1e-6 * integral(call)
    return {"numbers": [f"{number:.6g}" for number in numbers]} if little else False


def pi_itself(call):
    exact = all(Rounding(1e-14)(number.value, math.pi) for number in call.of("value"))
    return {"expected": integral(call)} if exact else False


PI = EachRankReturns(integral, as_sent)
SHARES = share_mistakes(
    own_points,
    """
    world-not-comm: The run is on {size} of the world's ranks, but your code works with {of}. The world may be larger
    than the group that your function is for. Whom do you ask for the number of ranks?

    no-such-share: A rank asks `partial_sum` for the share of rank {number} of {of}. Ranks are numbered from 0 on.

    other-integral: A rank asks `partial_sum` for a share of {asked:interval}, and the integral has {intervals}. How
    many intervals do *all* ranks together have?

    local-rank-for-share: The run is on several nodes of {local_size:rank}, and each rank takes the share of its local
    rank. Local ranks are numbered anew on each node, so some shares are added twice and others never.
    """,
    world_not_comm=asks(lambda call, n, rank, of: of > call.size),
    no_such_share=asks(lambda call, n, rank, of: not 0 <= rank < of),
    other_integral=asks(lambda call, n, rank, of: n != call.arguments["intervals"]),
    local_rank_for_share=share_of_local_rank,
)
RESULTS = Mistakes(
    f"""
    pi-itself: The ranks return pi to its last digit. The midpoint rule with {{intervals:interval}} is a little off: it
    gives {{expected:.10g}}. Where does your result come from?

    nothing-put-in: The ranks put {{numbers}} into the reduction, by rank: next to nothing of the area. What does your
    code pass to be sent, and what to receive?

    own-part-only: Each rank returns what follows from its own part alone: {{values}}. Every one of them should return
    {{expected:.6g}}. Where do the other ranks' parts come in?

    average-for-sum: On {{size:rank}} the result is {{size}} times too small: {{actual:.6g}}, where {{expected:.6g}} is
    expected. Is there an average over the ranks where a sum belongs?

    averaged-twice: On {{size:rank}} the result is {{size}} times {{size}} times too small: {{actual:.6g}}, where
    {{expected:.6g}} is expected. How often is there an average over the ranks where a sum belongs?

    {HALF_PRECISION}

    h-twice: The ranks return {{actual:.6g}}: the integral, divided by the number of intervals. The width h is in what
    `partial_sum` gives already.
    """,
    changed(
        integral,
        own_part_only=lambda call: put_in(call) if None not in put_in(call) else None,
        average_for_sum={"times": lambda call: 1 / call.size},
        averaged_twice={"times": lambda call: 1 / call.size**2},
        h_twice={"times": lambda call: 1 / call.arguments["intervals"]},
    ),
    pi_itself=pi_itself,
    nothing_put_in=next_to_nothing,
    lost_in_16_bits=PI.lost_in_16_bits,
)


def cases(rng, with_comm=False):
    """All ranks; some in another order; called again, with fewer intervals than ranks; two ranks and one."""
    order, n, many = rng.sample(range(4), 4), rng.randint(10, 25), rng.randint(100, 200)
    drawn = [([0, 1, 2, 3], 4 * n + 2), (order, 4 * many + 3, 3, 1), (order[:3], 3 * n + 2, 3 * n, 2)]
    drawn += [(order[::-2], 2 * n + 1, 6 * n, 1), (order[2:3], n)]
    about = {"local_size": 2, "with_comm": with_comm}
    return [(ranks, *({"intervals": each, **about} for each in intervals)) for ranks, *intervals in drawn]


def gpu_case(rng):
    """A call on two ranks."""
    about = {"intervals": 4, "local_size": 2, "with_comm": False, "seed": rng.getrandbits(32)}
    return {"ranks": [0, 1], "calls": [about], ON_OTHER_GPUS: True}


def few_intervals(run):
    """Whether some ranks have nothing to do."""
    return run.broken["intervals"] < len(run.ranks)


EMPTY_RANK = Errors(
    """
    empty-rank: With fewer intervals than ranks, {who:raises|raise} {error}. What should a rank without a midpoint
    contribute, so that the others can go on?
    """,
    on=few_intervals,
    empty_rank="",
)
OWN = "each rank evaluates its own share only, a fair one"
ONE = "exactly one all-reduce of one float64, and the result is made of it. No other communication"
ALL = "all ranks return pi, the very same float (numpy's float64 is one)"
DEVICE = (
    "the tensor is on the device of the group's backend: on the CPU for \"gloo\", on the rank's own GPU, which plain "
    '"cuda" means, for "nccl"'
)


MPI = (
    "One all-reduce of eight bytes a rank makes the whole out of the parts, on every rank. Because you ask the "
    "communicator who takes part, the function works in any group of ranks."
)
TORCH = (
    "The same collective, for tensors: the dtype decides how many digits survive, and the backend where the tensor has "
    "to be. The group stands in for the communicator."
)
HOROVOD = (
    "Horovod averages unless it is told otherwise, because it was made for gradients. All ranks agree on such a result "
    "in any case, so look a default up before you trust a number."
)


def check_of(todo, library, consolidation, shares, result, *device, **more):
    """The check of one of the three functions. shares, result, device: points of these criteria."""
    reduction = one_allreduce(library, right, floats=True), result_of_reduction(due, parts), nothing_starts_or_ends
    return CallCheck.of(
        todo,
        PROBES[todo],
        partial(cases, with_comm=library == "mpi4py"),
        Criterion("shares", shares, OWN, own_share, SHARES),
        Criterion("reduction", 1, ONE, first_of(*reduction), after=("shares",)),
        Criterion("result", result, ALL, PI, RESULTS, after=("shares", "reduction")),
        *device,
        inputs=("intervals",),
        repeats=False,  # the calls of a case are of different sizes
        errors=EMPTY_RANK,
        consolidation=consolidation,
        **more,
    )


CHECKS = (
    check_of("parallel_pi", "mpi4py", MPI, 0.75, 1.25),
    # What mpi4py and Horovod send may stay on the CPU.
    check_of("parallel_pi_torch", "torch", TORCH, 0.5, 1, DeviceCriterion(0.5, DEVICE), gpu_case=gpu_case),
    check_of("parallel_pi_horovod", "horovod", HOROVOD, 0.75, 1.25),
)
