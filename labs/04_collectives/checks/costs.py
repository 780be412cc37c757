"""The check of `costs`: numbers are held against rounds and bytes of each plan, which are known for a few sizes."""

from math import log2

from autograde.rubric import CallCheck, Criterion, HasNumbers, Mistakes, Rounding, given, lacking

from ..probes.costs import NAMES, PROBE

ONE, TREE, BOTH, RING = NAMES
LEVELS = {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 8: 3, 9: 4, 12: 4, 16: 4, 17: 5}  # rounds of a tree, by ranks
NEAR = Rounding(1e-9, least=1e-6)  # seconds
TOLD = ("size", "nbytes", "alpha", "beta")

MISTAKES = """
one-latency: "{name}": you pay alpha once. Each round is a message of its own, and costs alpha again.

bandwidth-for-beta: "{name}": you divide by beta. It is in seconds per byte: what do so many bytes take?

everybody-served: "{name}": you count {size} messages for {size:rank}. Does the root need one?

rounds-not-rounded: "{name}": with {size:rank} you take log2({size}) rounds, and that is no whole number. How many
rounds does a tree of {size:rank} take?

half-an-allreduce: "{name}": you count one way only. After a reduction one rank has the sum, or each rank has a chunk of
it. And then?

whole-array-in-the-ring: "{name}": in each round of the ring, one chunk is sent. You count the whole array.

a-step-too-many-in-the-ring: "{name}": you count {size} rounds a turn on {size:rank}. How many neighbours does a chunk
have to reach until it has been everywhere?

latency-divided: "{name}": you divide the time of a whole message by {size}. A chunk has fewer bytes, but its message
begins like any other.

chunk-rounded: "{name}": you round the bytes of a chunk. Here they are nbytes / size, whatever that is.
"""
NOT_FREE = """not-free-alone: "{name}": on a single rank nothing has to be sent, so it takes 0 seconds. You return
{actual:.6g}."""


def numbers(name, size, nbytes, alpha, beta, **_):
    """What a plan takes, under "", and what known mistakes give."""
    ways, whole = 2 if name in (BOTH, RING) else 1, alpha + beta * nbytes
    rounds = ways * (LEVELS[size] if name in (TREE, BOTH) else size - 1)
    sent = nbytes / size if name == RING else nbytes
    known = {
        "": (rounds * (alpha + beta * sent),),
        "one-latency": (alpha + rounds * beta * sent, ways * alpha + rounds * beta * sent),
        "bandwidth-for-beta": (rounds * (alpha + sent / beta),),
    }
    if name == ONE:
        known["everybody-served"] = (size * whole,)
    if name in (TREE, BOTH):
        known["rounds-not-rounded"] = (ways * log2(size) * whole, ways * (size.bit_length() - 1) * whole)
    if ways == 2:
        known["half-an-allreduce"] = (rounds / 2 * (alpha + beta * sent),)
    if name == RING:
        known["whole-array-in-the-ring"] = (rounds * whole,)
        known["a-step-too-many-in-the-ring"] = (2 * size * (alpha + beta * sent),)
        known["latency-divided"] = (rounds * whole / size,)
        known["chunk-rounded"] = tuple(rounds * (alpha + beta * (nbytes // size + more)) for more in (0, 1))
    return known


def costs(call):
    return {name: numbers(name, **call.arguments)[""][0] for name in NAMES}


def criterion(name, plan):
    """The criterion on one plan, with the mistakes that fit it."""

    def mistaken(call):
        known = numbers(plan, **call.arguments)
        return {key: tuple({plan: each} for each in known[key]) for key in known if key}

    judge = HasNumbers(costs, TOLD, NEAR, of=(plan,))
    return Criterion(name, 0.45, f'the seconds of "{plan}"', judge, Mistakes(MISTAKES, mistaken), on=lacking(size=1))


def all_there(call):
    seen = call.seen[0].numbers
    return len(seen) == len(NAMES) and None not in (each.value for each in seen.values())


def cases(rng):
    """One rank and many, powers of two and not."""

    def call(size):
        alpha, beta = rng.uniform(1e-4, 5e-3), rng.uniform(1e-8, 1e-6)
        return {"size": size, "nbytes": 24 * rng.randrange(50, 40_000) + 7, "alpha": alpha, "beta": beta}

    calls = [*map(call, (4, 6, 3, 2, 1)), call(8) | {"alpha": 0.0}, call(5) | {"nbytes": 0}]
    return [{"calls": [*calls, *map(call, (rng.choice((9, 12)), 16, 17, 1))]}]


CHECK = CallCheck.of(
    "costs",
    PROBE,
    cases,
    *map(criterion, ("one-by-one", "tree", "tree-twice", "ring"), NAMES),
    Criterion(
        "alone",
        0.2,
        "all are 0.0 if size is 1",
        HasNumbers(costs, TOLD, NEAR),
        Mistakes(NOT_FREE, not_free_alone=all_there),
        on=given(size=1),
    ),
    inputs=TOLD,
    consolidation="Rounds times alpha, and bytes on the busiest line times beta: that is all. Small messages want few "
    "rounds, large ones few bytes.",
)
