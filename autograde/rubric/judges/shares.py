"""Judges of how a row of numbers is shared out among ranks, and samples among the batches of each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, prod

from autograde.rubric.words import Words, Wrong

MANY = 1e6  # in so many ways can samples be put into batches, so that it is hardly ever the same by chance
Orders = Sequence[Sequence[Sequence[int]]]  # by epoch and batch, numbers of samples

words = Words("""
numbers-left-out: With {n} numbers on {size:rank}, no rank has {lost} of them. What happens to the rest where N cannot
be divided by the number of ranks?

in-two-shares: With {n} numbers on {size:rank}, {twice} of them are in more than one rank's share. Where does a share
end, and where does the next one begin?

share-in-pieces: With {n} numbers on {size:rank}, the share of rank {rank} is not one piece at its place. A share has no
gaps, and the shares are in the order of the ranks.

shares-unequal: With {n} numbers on {size:rank}, one rank has {most} and another {least}. Shares should differ by one at
most.

samples-used-again: In epoch {epoch}, {twice} of {samples:sample} are used more than once. An epoch visits each sample
once.

samples-left-out: In epoch {epoch}, {lost} of {samples:sample} are never used{where}. What becomes of those that are
left over when samples are cut into batches, or a batch is shared out?

not-shuffled: In the first epoch the samples come in their own order. Each epoch has a random one.

same-order-every-epoch: Of {epochs:epoch}, several have one and the same order. What should be different in each of
them?

order-only-rolled: Each epoch repeats the order of the first one, only shifted. A new random order is expected in every
epoch.

batches-not-cut-anew: Every epoch has the same batches, only in another order. What is shuffled: the samples, or batches
that are cut already?

not-repeatable: With seed {seed} twice, the orders are different ones. They should follow from the seed alone.

seed-ignored: The order does not depend on the seed: it is the same one with {seed} and {other}.
""")


def pieces_in_order(places: Sequence[Sequence[int]], n: int) -> Wrong | None:
    """Of places by rank: all n are there, once; each rank's are one piece, in the order of the ranks, of fair sizes."""
    about, lengths = {"n": n, "size": len(places)}, [*map(len, places)]
    owners = [sum(place in own for own in places) for place in range(n)]
    if twice := sum(each > 1 for each in owners):
        return words("in-two-shares", twice=twice, **about)
    if lost := owners.count(0):
        return words("numbers-left-out", lost=lost, **about)
    for rank, own in enumerate(places):
        begin = sum(lengths[:rank])
        if [*own] != [*range(begin, begin + len(own))]:
            return words("share-in-pieces", rank=rank, **about)
    most, least = max(lengths), min(lengths)
    return words("shares-unequal", most=most, least=least, **about) if most - least > 1 else None


def each_sample_once(orders: Orders, n: int, where: str = "") -> Wrong | None:
    """Of samples by epoch and batch: each epoch has all n of them, once. where: what is said of those left out."""
    for epoch, order in enumerate(orders):
        used = [sample for batch in order for sample in batch]
        if twice := len(used) - len({*used}):
            return words("samples-used-again", epoch=epoch, samples=n, twice=twice)
        if lost := n - len(used):
            return words("samples-left-out", epoch=epoch, samples=n, lost=lost, where=where)
    return None


def new_orders(orders: Orders) -> Wrong | None:
    """Of samples by epoch and batch, all in each epoch: each order is a new random one, as far as chance can tell."""
    orders = [[sorted(batch) for batch in order] for order in orders]
    epochs, sizes = len(orders), [*map(len, orders[0])]
    n, different = sum(sizes), {str(order) for order in orders}
    ways = factorial(n) // prod(map(factorial, sizes))
    in_order = orders[0] == [[*range(sum(sizes[:at]), sum(sizes[: at + 1]))] for at in range(len(sizes))]
    if in_order and (ways if len(different) > 1 else ways**epochs) > MANY:
        return words("not-shuffled")
    if (ways if len(different) > 1 else ways ** (epochs - 1)) > MANY and len(different) < epochs:
        return words("same-order-every-epoch", epochs=epochs)
    if ways > MANY and epochs > 1 and max(sizes) == 1 and all(shifted(order, orders[0]) for order in orders):
        return words("order-only-rolled")
    cuts = ways // factorial(sizes.count(max(sizes)))
    alike = len({str(sorted(order)) for order in orders}) == 1
    return words("batches-not-cut-anew") if alike and cuts ** (epochs - 1) > MANY and max(sizes) > 1 else None


def shifted(order: Sequence[Sequence[int]], first: Sequence[Sequence[int]]) -> bool:
    """Whether an order of single samples is the first one shifted: in its places, or in the samples' numbers."""
    one, two = ([sample for batch in each for sample in batch] for each in (order, first))
    if sorted(one) != sorted(two):
        return False
    at = one.index(two[0])
    return [*one[at:], *one[:at]] == two or len(
        {(new - old) % len(two) for new, old in zip(one, two, strict=True)}
    ) == 1


def orders_by_seed(same: bool, seed: int, other: int) -> Wrong | None:
    """Of two runs, whether their orders are the same: they are, if and only if their seeds are."""
    return (
        None if same is (seed == other) else words("seed-ignored" if same else "not-repeatable", seed=seed, other=other)
    )


JUDGES = (pieces_in_order, each_sample_once, new_orders, orders_by_seed)
