"""The check of `make_loader`: what the ranks draw, by the samples' numbers."""

from itertools import chain

from autograde.rubric import (
    ROTATED,
    CallCheck,
    Criterion,
    Mistakes,
    Orders,
    Same,
    Words,
    changed,
    evenly,
    mistakes_by_rank,
    on_ranks,
    once,
)

from ..probes import make_loader

words = Words("""
no-sampler: The loader's sampler has no `set_epoch`, so nothing can tell it to shuffle anew.

wrong-batches: On rank {rank}, the batches have the sizes {actual}, where `batch_size` is {batch_size}: expected are
{expected}. What cuts the samples into batches, and what was it given?
""")


def samples(call):
    return call.arguments["samplers"][0][0]


@once
def drawn(call):
    """By rank and pass, the samples."""
    return [[[*chain.from_iterable(each)] for each in own] for own in call.of("passes")]


@once
def orders(call):
    return Orders(call.arguments["samplers"], call.arguments["passes"], drawn(call))


def sizes(call):
    return [[[*map(len, each)] for each in own] for own in call.of("passes")]


def cut(count, batch, keep=True):
    """Sizes of the batches into which samples are cut. keep: also a smaller one at the end."""
    rest = [count % batch] if keep and count % batch else []
    return [batch] * (count // batch) + rest


def counts(call):
    """By pass and rank, how many samples are drawn."""
    return [[*map(len, each)] for each in zip(*drawn(call), strict=True)]


def last_dropped(call, counted):
    """Whether all ranks draw so many samples as a share has in full batches, and no more. counted: by rank."""
    share, batch = -(-samples(call) // call.size), call.arguments["batch_size"]
    return share % batch > 0 and {*counted} == {share - share % batch}


def batches(call, batch=None, keep=True):
    """By rank and pass, the sizes of batches of what is drawn: of a share without its last batch, with that."""
    batch, share = batch or call.arguments["batch_size"], -(-samples(call) // call.size)
    due = [[share] * call.size if last_dropped(call, each) else each for each in counts(call)]
    return [[cut(count, batch, keep) for count in own] for own in zip(*due, strict=True)]


def wrong_batches(call, off):
    rank, number = off.place[:2]
    actual, expected = (str(each[rank][number]) for each in (sizes(call), batches(call)))
    return words("wrong-batches", rank=rank, actual=actual, expected=expected, **call.arguments)


def shared(call):
    """That a last batch is missing is judged by itself."""
    for counted, shares in zip(counts(call), zip(*drawn(call), strict=True), strict=True):
        if not last_dropped(call, counted) and (wrong := evenly(samples(call), shares)):
            return wrong
    return None


def told(call):
    return None if all(call.of("told")) else words("no-sampler")


def repeats(call):
    return told(call) or orders(call).repeats()


def anew(call):
    return told(call) or orders(call).shuffled() or orders(call).anew()


CUT = Mistakes(
    """
    batch-size-divided: The batches of a rank have the sizes {actual}, where `batch_size` is {batch_size}. That number
    is for one rank, not for all together.

    last-batch-dropped: With {size:rank}, the batches of a rank have the sizes {actual}: its last batch, which is
    smaller, is left out.
    """,
    changed(
        batches,
        batch_size_divided={"batch": lambda call: max(1, call.arguments["batch_size"] // call.size)},
        last_batch_dropped={"keep": False},
    ),
)


def case(rng, size, n, batch_size, local_size):
    """The first epoch comes again at the end, and the first seed, too."""
    first, *others = rng.sample(range(1, 50), 4)
    seed = rng.randrange(1000)
    samplers = [[n, size == 1, each] for each in (seed, seed, seed + 1, seed + 1000)]
    passes = [[which, epoch] for which in range(4) for epoch in (first, *others, first)]
    about = {"samplers": samplers, "passes": passes, "batch_size": batch_size, "local_size": local_size}
    return size, {**about, "data": rng.randrange(2**31)}


def cases(rng):
    """Samples that ranks do not divide, on nodes of two; fewer samples than ranks; one rank.

    Who drops what is left over among the ranks, and who drops the last batch, draw another number in each.
    """
    many = 4 * rng.randint(9, 10) + rng.choice((1, 2))
    shapes = [(4, many, 8, 2), (3, 2, 2, 3), (2, 2 * rng.randint(5, 6) + 1, 4, 2), (1, 11, 4, 1)]
    return [case(rng, *each) for each in (*shapes, (3, 3 * rng.randint(5, 8) + 1, 100, 3), (4, 1, 3, 4))]


CHECK = CallCheck.of(
    "make_loader",
    make_loader.PROBE,
    cases,
    Criterion(
        "shared",
        1,
        "in each epoch the ranks share the samples: all ranks draw equally many, no more than needed, and no sample is "
        "left out",
        shared,
        mistakes_by_rank(lambda call: [own[0] for own in drawn(call)], "the whole set"),
    ),
    Criterion(
        "batches",
        0.5,
        "each rank has batches of `batch_size`, and keeps the last one of an epoch, which may be smaller",
        Same(sizes, batches, on_ranks("the sizes of batches", "pass", "batch"), otherwise=wrong_batches),
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
