"""The check of `make_loader`: which pairs a rank draws in each epoch, and in which batches."""

from torch.utils.data import DistributedSampler

from autograde.fixtures.awkward_translator import draw_pairs
from autograde.rubric import (
    CUT,
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    drawn_samples,
    first_of,
    in_batches,
    on_ranks,
    samples,
    saying,
    shared_evenly,
)

from ..probes import make_loader

words = Words("""
not-a-loader: What is returned is not a loader of batches (src, tgt_in, tgt_out) of int64 tensors: {problem}

another-collate: The tensors in the batches are not those that the given `collate` makes of their pairs.
""")


def a_loader(call):
    problem = next(filter(None, call.of("problem")), "")
    return words("not-a-loader", problem=problem) if problem else None


def collated(call):
    return a_loader(call) or (None if all(call.of("alike")) else words("another-collate"))


def dealt(call, epoch=lambda epoch: epoch, seed=lambda seed: seed, shuffle=True):
    """By rank and pass, what a DistributedSampler deals out. epoch, seed: that it takes in place of those given."""

    def own(rank, which, each):
        order = seed(call.arguments["samplers"][which][2])
        sampler = DistributedSampler(range(samples(call)), call.size, rank, shuffle=shuffle, seed=order)
        sampler.set_epoch(epoch(each))
        return [*sampler]

    return [[own(rank, *each) for each in call.arguments["passes"]] for rank in range(call.size)]


ORDER = Mistakes(
    """
    not-shuffled: The pairs come in their own order, whatever the epoch and the seed.

    same-order-every-epoch: Each epoch has one and the same order. What should be different in each of them?

    seed-ignored: The order does not depend on the seed. What shuffles, and what was it given?
    """,
    changed(
        dealt,
        not_shuffled={"shuffle": False},
        same_order_every_epoch={"epoch": lambda call: lambda epoch: 0},
        seed_ignored={"seed": lambda call: lambda seed: 0},
    ),
)


def cases(rng):
    """Pairs that the ranks cannot share evenly; a single one; fewer than there are ranks.

    Who drops what is left over among the ranks, and who drops the last batch, draw another number in each.
    """

    def case(size, n, batch_size):
        first, seed = rng.randint(2, 9), rng.randint(1, 10**6)
        samplers, passes = [[n, False, seed], [n, False, seed + 1]], [[0, 0], [0, first], [1, 0]]
        about = {"samplers": samplers, "passes": passes, "batch_size": batch_size}
        return size, {**about, "pairs": draw_pairs(rng, n)}

    sets = [(4, 4 * rng.choice((4, 7)) + 2, 3), (3, 3 * rng.randint(5, 6) + 1, 4), (2, 1, 2)]
    return [case(*each) for each in (*sets, (4, 3, 5), (2, 2 * rng.choice((5, 7)) + 1, 2))]


CHECK = CallCheck.of(
    "make_loader",
    make_loader.PROBE,
    cases,
    Criterion("collated", 0.5, "it yields what `collate` makes of pairs: (src, tgt_in, tgt_out)", collated),
    Criterion(
        "shared",
        1,
        "in each epoch the ranks share the pairs: all draw equally many, no more than needed, and no pair is left out",
        first_of(a_loader, saying(shared_evenly, sample="pair")),
    ),
    Criterion(
        "batches",
        0.5,
        "each rank has batches of `batch_size` pairs, and keeps the last one of an epoch, which may be smaller",
        first_of(a_loader, in_batches),
        CUT,
        after=("shared",),
    ),
    Criterion(
        "order",
        1,
        "they come in the order of a DistributedSampler with this seed, another one in each epoch",
        first_of(a_loader, Same(drawn_samples, dealt, on_ranks("the numbers of the pairs", "pass", "pair"))),
        ORDER,
        after=("shared", "batches"),
    ),
    fits=lambda case, arguments, seen: len(seen.passes) == len(arguments["passes"]),
    consolidation="The sampler decides which pairs are a rank's, and `collate` makes tensors of them. All ranks draw "
    "equally many, so each of them has a part in every step.",
)
