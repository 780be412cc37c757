"""The check of `make_loader`: what the ranks draw, by the samples' numbers."""

from autograde.rubric import (
    CUT,
    ROTATED,
    CallCheck,
    Criterion,
    Mistakes,
    Orders,
    Words,
    drawn_samples,
    in_batches,
    mistakes_by_rank,
    once,
    shared_evenly,
)

from ..probes import make_loader

words = Words("""
no-sampler: The loader's sampler has no `set_epoch`, so nothing can tell it to shuffle anew.
""")


@once
def orders(call):
    return Orders(call.arguments["samplers"], call.arguments["passes"], drawn_samples(call))


def told(call):
    return None if all(call.of("told")) else words("no-sampler")


def repeats(call):
    return told(call) or orders(call).repeats()


def anew(call):
    return told(call) or orders(call).shuffled() or orders(call).anew()


def case(rng, size, n, batch_size, local_size):
    """The first epoch comes again at the end, and the first seed, too."""
    first, *others = rng.sample(range(1, 50), 4)
    seed = rng.randrange(1000)
    samplers = [[n, size == 1, each] for each in (seed, seed, seed + 1, seed + 1000)]
    passes = [[which, epoch] for which in range(4) for epoch in (first, *others, first)]
    about = {"samplers": samplers, "passes": passes, "batch_size": batch_size, "local_size": local_size}
    return size, {**about, "data": rng.randrange(2**31)}


def cases(rng):
    """Samples that ranks do not divide, on nodes of two; one rank; then fewer samples than ranks.

    Who drops what is left over among the ranks, and who drops the last batch, draw another number in each: with fewer
    samples than ranks, batches of one are never dropped.
    """
    many = 4 * rng.randint(9, 10) + rng.choice((1, 2))
    shapes = [(4, many, 8, 2), (2, 2 * rng.randint(5, 6) + 1, 4, 2), (1, 11, 4, 1)]
    return [case(rng, *each) for each in (*shapes, (3, 3 * rng.randint(5, 8) + 1, 100, 3), (3, 2, 1, 3), (4, 1, 1, 4))]


CHECK = CallCheck.of(
    "make_loader",
    make_loader.PROBE,
    cases,
    Criterion(
        "shared",
        1,
        "in each epoch the ranks share the samples: all ranks draw equally many, no more than needed, and no sample is "
        "left out",
        shared_evenly,
        mistakes_by_rank(lambda call: [own[0] for own in drawn_samples(call)], "the whole set"),
    ),
    Criterion(
        "batches",
        0.5,
        "each rank has batches of `batch_size`, and keeps the last one of an epoch, which may be smaller",
        in_batches,
        CUT,
    ),
    Criterion(
        "anew",
        1,
        "`loader.sampler.set_epoch(epoch)` shuffles the samples anew: each epoch and each seed has an order of its own",
        anew,
        Mistakes(
            ROTATED,
            only_rotated=lambda call: orders(call).rotated(2),
            only_rotated_by_seed=lambda call: orders(call).rotated(1),
        ),
    ),
    Criterion(
        "follows",
        0.5,
        "the same seed and epoch give the same order",
        repeats,
    ),
    repeats=False,
    fits=lambda case, arguments, seen: len(seen.passes) == len(arguments["passes"]),
    consolidation="All ranks shuffle alike, and each takes its own part, so together they see every image in every "
    "epoch. They make equally many steps, and none waits for a partner that has finished.",
)
