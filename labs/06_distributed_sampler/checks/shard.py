"""The check of `shard`: each sample dealt out in turn, and as many for each rank."""

from autograde.rubric import CallCheck, Criterion, Errors, dealt_in_turn, not_a_list, not_ints

from ..probes import shard


def dealt(call):
    return dealt_in_turn(range(call.arguments["samples"]), [own.ids for own in call.seen[0].shares])


def list_of_ints(call):
    shares = call.seen[0].shares
    return not_a_list(own.type for own in shares) or not_ints(shares)


def few(arguments):
    return arguments["samples"] < arguments["ranks"]


def enough(arguments):
    return not few(arguments)


def even(arguments):
    """Whether the last round is full."""
    return arguments["samples"] % arguments["ranks"] == 0


def filled_up(arguments):
    return enough(arguments) and not even(arguments)


def cases(rng):
    """Samples that divide evenly, and that leave two or three places to fill up; one rank; then few samples."""
    many = [(4 * rng.randint(3, 6), 4), (rng.randint(5, 9), 1), (6, 6), (4 * rng.randint(3, 6) + 2, 4)]
    many += [(4 * rng.randint(3, 6) + 1, 4), (3 * rng.randint(3, 7) + 1, 3), (2 * rng.randint(3, 8) + 1, 2)]
    many += [(7 * rng.randint(3, 6) + 3, 7), (5 * rng.randint(20, 40) + 2, 5)]
    both = many, [(3, 4), (1, 4), (2, 7), (3, 8)]
    return [(None, *({"samples": n, "ranks": size} for n, size in splits)) for splits in both]


FEW = Errors(
    """
    few-samples: With {samples:sample} on {ranks:rank}, your function raises an error ({error}). The samples can be
    dealt out more than once.
    """,
    on=lambda run: few(run.broken),
    few_samples="",
)
IN_TURN = "all samples are dealt out one by one, in their order, to ranks 0, 1, ..., size - 1, and round again"
FILLED_UP = "if the last round is not full, dealing goes on from sample 0 until all ranks have equally many"
AS_OFTEN = "also with fewer samples than ranks, they are dealt out as often as needed"
CHECK = CallCheck.of(
    "shard",
    shard.PROBE,
    cases,
    Criterion("in-turn", 1, IN_TURN, dealt, on=even),
    Criterion("filled-up", 1, FILLED_UP, dealt, on=filled_up, after=("in-turn",)),
    Criterion("few-samples", 0.5, AS_OFTEN, dealt, on=few, after=("in-turn", "filled-up")),
    Criterion("ints", 0.5, "each share is a list of ints", list_of_ints, on=enough),
    inputs=("samples", "ranks"),
    repeats=False,  # each call has other numbers
    fits=lambda case, arguments, seen: len(seen.shares) == arguments["ranks"],
    errors=FEW,
    consolidation="Each rank works out its share from two numbers, its own and that of all ranks, and no message is "
    "sent. Equal shares keep the ranks in step; a few samples drawn twice are the price.",
)
