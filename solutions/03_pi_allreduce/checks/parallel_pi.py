"""The checks of `parallel_pi`, `parallel_pi_torch` and `parallel_pi_horovod`, which add up pi on all ranks."""

from __future__ import annotations

import math
import random
import struct
from dataclasses import replace

from autograde.contract.evidence import Number
from autograde.contract.gpu import ON_OTHER_GPUS
from autograde.rubric import (
    DIGITS,
    SINGLE,
    Call,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Due,
    EachRankReturns,
    Gives,
    Mistakes,
    Ranks,
    Rounding,
    Run,
    Words,
    Wrong,
    fair,
    first_of,
    midpoints_once,
    nothing_starts_or_ends,
    one_allreduce,
    result_of_reduction,
    share_mistakes,
)
from course.models.midpoints import midpoint_sum

from ..probes.parallel_pi import PROBES
from ..shared.parts import curve, share_of

NEAR = Rounding()

words = Words("""
world-not-comm: The run is on {size} of the world's ranks, but your code works with {ranks}. The world may be larger
than the group that your function is for. Whom do you ask for the number of ranks?

no-such-share: A rank asks `partial_sum` for the share of rank {rank} of {of}. Ranks are numbered from 0 to {last}.

local-h: A rank asks `partial_sum` for the midpoints of {intervals:interval}, and the integral has others. How many
intervals do *all* ranks together have?

everything-on-every-rank: Each of {size:rank} works out the whole integral, which takes as long as on one rank alone.
Which part is a rank's own?

overlapping-shares: On {size:rank}, {twice:share} of `partial_sum` are asked for more than once, so their area counts
too often. Which share is whose?

idle-ranks: {who:does|do} all of the work, and {idle} nothing. There is work for all of them. Which part of it is
whose?

calls-do-not-match: A deadlock: {ranks:rank} wait in {call}, each of them for the others. Horovod puts together the
calls that have one and the same name. What is the name of yours on each rank?

empty-rank: With fewer intervals than ranks, {who:raises|raise} {error}. What should a rank without a midpoint
contribute, so that the others can go on?
""")


def expected(call: Call) -> float:
    """The sum over all midpoints."""
    return midpoint_sum(curve, call.arguments["intervals"])


def right(call: Call) -> bool:
    """Whether all ranks returned it."""
    return all(NEAR(number.value, expected(call)) for number in call.of("value"))


def brought(call: Call) -> list[float | None]:
    """By rank, the first number that it put into its last call."""
    return [(log[-1]["values"] or [None])[0] if log else None for log in call.events]


def own_share(call: Call) -> Wrong | None:
    """Each rank does its own share of the work, by points of its own or shares of `partial_sum`: together all of it,
    once."""
    size, intervals = call.size, call.arguments["intervals"]
    asked, points = call.of("shares"), call.of("points")
    flat = [share for of_rank in asked for share in of_rank]
    if larger := [of for _, _, of in flat if of > size]:
        return words("world-not-comm", size=size, ranks=larger[0])
    if strange := [(rank, of) for _, rank, of in flat if of > 0 and not 0 <= rank < of]:
        return words("no-such-share", rank=strange[0][0], of=strange[0][1], last=strange[0][1] - 1)
    if other := [n for n, _, _ in flat if n != intervals]:
        return words("local-h", intervals=other[0])
    whole = [rank for rank, of_rank in enumerate(asked) if sum(1 / of for *_, of in of_rank if of > 0) > 0.999]
    alone = size > 1 and all(len(log) == 1 for log in call.events)
    if size > 1 and (len(whole) == size or (alone and all(NEAR(each, expected(call)) for each in brought(call)))):
        return words("everything-on-every-rank", size=size)
    if size > 1 and intervals >= size and (busy := workers(call)) and len(busy) == 1:
        idle = Ranks(rank for rank in range(size) if rank not in busy)
        return words("idle-ranks", who=Ranks(busy), idle=idle)
    if twice := len(flat) - len({*flat}):
        return words("overlapping-shares", size=size, twice=twice)
    if any(call.of("used")):
        return midpoints_once(intervals, points) or fair(points)
    return None


def returned(call: Call) -> Wrong | None:
    """All ranks return pi, as near as the numbers that they communicate allow: of what dtype these have to be is judged
    with the reduction."""
    dtypes = [event["dtype"] for log in call.events for event in log]
    coarse = next((each for each in dtypes if each in DIGITS and each != "float64"), None)
    if coarse is None:
        return PI(call)

    def as_floats(call: Call) -> list[Number]:
        numbers = call.of("value")
        return [Number("float", True, each.value) if each.kind == coarse else each for each in numbers]

    return replace(PI, value=as_floats, rounding=Rounding.of(coarse))(call)


def workers(call: Call) -> list[int]:
    """The ranks that evaluate f or ask for a share; all if none is seen to."""
    return [rank for rank, seen in enumerate(call.seen) if seen.points or seen.shares]


def local_rank(call: Call) -> bool | None:
    """Whether each rank asks for the share of its local rank; on one node nobody can tell."""
    intervals, on_node = call.arguments["intervals"], call.arguments["local_size"]
    asked = [[(intervals, rank % on_node, call.size)] for rank in range(call.size)]
    return call.of("shares") == asked if call.size > on_node else None


def due(call: Call) -> Due | None:
    """What is known of the right result; None if it is not right."""
    if not all(SINGLE(number.value, expected(call)) for number in call.of("value")):
        return None
    intervals, size = call.arguments["intervals"], call.size
    # What a result may be, times what came out: an average undone, parts without the width or the curve's 4.
    factors = {width * times * four for width in (1, 1 / intervals) for times in (1, size, 1 / size) for four in (1, 4)}
    # There may be ranks without an interval, as where shares are rounded up.
    least = min(0.05, 0.6 / intervals) if intervals >= size * (size - 1) else 0.0
    alone = expected(call) if right(call) else None  # in single precision, late digits tell nothing
    return Due(call.seen[0].value.value, factors, least, alone)


def parts(call: Call) -> list[list[float]]:
    """By rank, the part of the sum that its points and its shares give; none if nothing is seen of them."""
    intervals, whole, weights = call.arguments["intervals"], expected(call), call.case["weights"]
    if not workers(call):
        return []
    return [
        [
            math.fsum(curve(x) / intervals for x in seen.points if x is not None)
            + math.fsum(whole * share_of(weights, intervals, rank) for _, rank, _ in seen.shares)
            for seen in call.seen
        ]
    ]


def nothing_put_in(call: Call) -> dict | bool | None:
    """Whether all that the ranks put into their reduction is next to nothing of the area."""
    numbers = brought(call)
    if None in numbers:
        return None
    little = all(abs(number) < 1e-6 * expected(call) for number in numbers)
    return {"put_in": ", ".join(f"{number:.6g}" for number in numbers)} if little else False


def in_half_precision(call: Call) -> dict | bool:
    """Whether the ranks return pi with the digits that a float16 or a bfloat16 has."""
    values = [number.value for number in call.of("value")]
    off = max(abs((value or 0.0) - expected(call)) for value in values)
    if off > DIGITS["bfloat16"] * expected(call) or off <= SINGLE.relative * expected(call):
        return False
    return {"off": off} if all(map(has_few_digits, values)) else False


def has_few_digits(value: float) -> bool:
    """Whether a number around 3 is one of those that float16 or bfloat16 have."""
    half, single = struct.pack(">e", value), struct.pack(">f", value)
    return struct.unpack(">e", half)[0] == value or struct.unpack(">f", single[:2] + b"\0\0")[0] == value


def pi_itself(call: Call) -> dict | bool:
    """Whether the ranks return pi to its last digit, which no sum over few midpoints gives."""
    exact = all(number.value is not None and abs(number.value - math.pi) < 1e-14 for number in call.of("value"))
    return {"expected": expected(call)} if exact else False


PI = EachRankReturns(expected)
returned.gives = PI.gives


def met_nobody(run: Run) -> str | None:
    """The call in which all ranks wait, having made equally many; None if there is none."""
    waiting, numbers = {rank["call"] for rank in run.ranks}, {*map(len, run.of_call(run.reached))}
    return waiting.pop() if len(waiting) == len(numbers) == 1 else None


SHARES = share_mistakes(
    lambda call: call.of("points"),
    """
    local-rank-for-share: The run is on several nodes of {local_size:rank}, and each rank takes the share of its local
    rank. Local ranks are numbered anew on each node, so some shares are added twice and others never.
    """,
    local_rank_for_share=local_rank,
)
RESULTS = Mistakes(
    """
    pi-itself: The ranks return pi to its last digit. The midpoint rule with {intervals:interval} is a little off: it
    gives {expected:.10g}. Where does your result come from?

    nothing-put-in: The ranks put {put_in} into the reduction, by rank: next to nothing of the area. What does your code
    pass to be sent, and what to receive?

    own-part-only: Each rank returns what follows from its own part alone: {values}. Every one of them should return
    {expected:.6g}. Where do the other ranks' parts come in?

    average-for-sum: On {size:rank} the result is {size} times too small: {actual:.6g}, where {expected:.6g} is
    expected. Is there an average over the ranks where a sum belongs?

    averaged-twice: On {size:rank} the result is {much} times too small: {actual:.6g}, where {expected:.6g} is
    expected. How often is there an average over the ranks where a sum belongs?

    lost-in-16-bits: The result is off by {off:.0e}. That is half precision: 3 digits of 16 are left. Where does it get
    in?

    h-twice: The ranks return {actual:.6g}: the integral, divided by the number of intervals. The width h is in what
    `partial_sum` gives already.
    """,
    pi_itself=pi_itself,
    nothing_put_in=nothing_put_in,
    own_part_only=lambda call: Gives(brought(call)) if None not in brought(call) else None,
    average_for_sum=lambda call: Gives(expected(call) / call.size),
    averaged_twice=lambda call: Gives(expected(call) / call.size**2, much=call.size**2),
    lost_in_16_bits=in_half_precision,
    h_twice=lambda call: Gives(expected(call) / call.arguments["intervals"]),
)


class ParallelPi(CallCheck):
    """The same number on every rank by one reduction, each rank doing its share; in one of three libraries.

    todo: name of the function. library: "mpi4py", "torch" or "horovod". consolidation: see `Check`.
    """

    inputs = ("intervals",)
    repeats = False  # calls have no seed, and the calls of a case are of different sizes

    def __init__(self, todo: str, library: str, consolidation: str) -> None:
        self.todo, self.library, self.consolidation, self.probe = todo, library, consolidation, PROBES[todo]
        shares, result, device = (0.5, 1, 0.5) if library == "torch" else (0.75, 1.25, 0)
        reduction = first_of(one_allreduce(library, right), result_of_reduction(due, parts), nothing_starts_or_ends)
        self.criteria = (
            Criterion("shares", shares, "each rank evaluates its own share only, a fair one", own_share, SHARES),
            Criterion(
                "reduction",
                1,
                "exactly one all-reduce of one float64, and the result is made of it. No other communication",
                reduction,
                after=("shares",),
            ),
            Criterion(
                "result",
                result,
                "all ranks return pi, the very same float (numpy's float64 is one)",
                returned,
                RESULTS,
                after=("shares", "reduction"),
            ),
        )
        if device:
            says = (
                "the tensor is on the device of the group's backend: on the CPU for \"gloo\", on the rank's "
                'own GPU, which plain "cuda" means, for "nccl"'
            )
            self.criteria += (DeviceCriterion(device, says),)

    def cases(self, rng: random.Random) -> list[dict]:
        """All ranks; some in another order; called again, with fewer intervals than ranks; two ranks and one."""
        order, n, many = rng.sample(range(4), 4), rng.randint(10, 25), rng.randint(100, 200)
        cases = [self.case(rng, [0, 1, 2, 3], 4 * n + 2), self.case(rng, order, 4 * many + 3, 3, 1)]
        cases += [self.case(rng, order[:3], 3 * n + 2, 3 * n, 2), self.case(rng, order[::-2], 2 * n + 1, 6 * n, 1)]
        return [*cases, self.case(rng, order[2:3], n)]

    def gpu_case(self, rng: random.Random) -> dict | None:
        """A call on two ranks with torch alone: what mpi4py and Horovod send may stay on the CPU."""
        if self.library != "torch":
            return None
        return {**self.case(rng, [0, 1], 4), ON_OTHER_GPUS: True}

    def case(self, rng: random.Random, ranks: list[int], *intervals: int) -> dict:
        """A case with a call for each number of intervals, and shares of sizes of its own."""
        sizes = [rng.uniform(0.5, 1.5) for _ in ranks]
        weights = [size / math.fsum(sizes) for size in sizes]
        with_comm = self.library == "mpi4py"
        calls = [{"intervals": each, "local_size": 2, "with_comm": with_comm} for each in intervals]
        return {"ranks": ranks, "calls": calls, "weights": weights, "late": rng.randrange(len(ranks))}

    def broke_off(self, run: Run) -> Wrong | None:
        """An error on ranks that may have nothing to do; or calls of Horovod that do not find each other."""
        if run.state == "hang" and self.library == "horovod" and (call := met_nobody(run)):
            return words("calls-do-not-match", run.report, ranks=len(run.ranks), call=f"`{call}`")
        errors = {rank["rank"]: rank["error"] for rank in run.ranks if rank["error"]}
        if run.state != "raised" or not errors or run.broken["intervals"] >= len(run.ranks):
            return None
        error = errors[min(errors)]
        what = f"{error['type']}: {error['message'][:200]}"
        return words("empty-rank", run.report, who=Ranks(sorted(errors)), error=what)


CHECKS = (
    ParallelPi(
        "parallel_pi",
        "mpi4py",
        "One all-reduce of eight bytes a rank makes the whole out of the parts, on every rank. Because you ask the "
        "communicator who takes part, the function works in any group of ranks.",
    ),
    ParallelPi(
        "parallel_pi_torch",
        "torch",
        "The same collective, for tensors: the dtype decides how many digits survive, and the backend where the tensor "
        "has to be. The group stands in for the communicator.",
    ),
    ParallelPi(
        "parallel_pi_horovod",
        "horovod",
        "Horovod averages unless it is told otherwise, because it was made for gradients. All ranks agree on such a "
        "result in any case, so look a default up before you trust a number.",
    ),
)
