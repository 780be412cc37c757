"""Judges of how numbers, or samples of a data set, are shared out among ranks, and among the batches of an epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from math import factorial, prod
from typing import Any

from autograde.rubric.judge import Call
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.words import Words, Wrong

MANY = 1e6  # in so many ways can samples be put into batches, so that it is hardly ever the same by chance
Ids = Sequence[int | None]  # None stands for an entry that is no whole number
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

unknown-samples: A rank draws {bad}, which is no sample of the set: it has {n:sample}, numbered from 0, for {size:rank}.

whole-set-on-every-rank: Each of {size:rank} draws all {n:sample}, which takes as long as on one rank alone. Which
samples are a rank's own?

tail-dropped: {n:sample} on {size:rank}: no rank draws {missing} of them. Samples that are left over when the ranks
share evenly must not be lost.

no-padding: {n:sample} on {size:rank}: one rank draws {most}, another {least}. The first would take a step more, and
wait for the others for ever. All ranks should draw equally many.

padding-not-repeated: With fewer samples than ranks, here {n:sample} on {size:rank}, one rank draws {most} and another
{least}. Here it takes more than one round to fill up.

wrong-number: {n:sample} on {size:rank}: one rank draws {most}, another {least}, and no rank draws {missing} of the
samples. All ranks should draw equally many, and no more than needed.

fewer-than-needed: {n:sample} on {size:rank}: each rank draws {most}, where {expected} are needed, and no rank draws
{missing} of the samples.

more-than-needed: {n:sample} on {size:rank}: each rank draws {most}, where {expected} are enough. How many turns does
it take until all samples are dealt out?

overlapping-shards: {n:sample} on {size:rank}: {twice} are drawn more than once, and {missing} by no rank, although
each rank draws as many as it should. Do all ranks use one and the same order, and each its own number among all ranks?

contiguous-shards: {n:sample} on {size:rank}: rank 0 takes neighbours, a block of them. They are to be dealt out in
turn, one to each rank, round and round.

wrong-padding: {n:sample} on {size:rank}: each is drawn, but the shares are filled up with {again}. Where does filling
up begin, and which rank is next?

wrong-order: {n:sample} on {size:rank}: each is drawn, but not in the expected order. Rank {rank} begins with {actual},
where {expected} is expected.

seed-ignored: The order does not depend on the seed: it is the same one with {seed} and {other}.
""")


BY_RANK = """
everything-on-every-rank: Each of {size:rank} takes {whole}, so that all of the work is done {size:time}. Which part is
a rank's own?

share-by-local-rank: On {size:rank}, each rank takes the share of its local rank. The check simulates nodes with
{local_size:rank} each, on each of which local ranks count from 0. Which number does a rank have among all of them?
"""


def mistakes_by_rank(own: Callable[[Call], Sequence[Any]], whole: str, text: str = "", **signs: Callable) -> Mistakes:
    """Mistakes of those who share something out among ranks, on nodes of `local_size` ranks where a call has this
    argument. own: of a call, by rank, what it takes; empty where nothing is known. whole: all of it, in words. text,
    signs: further ones, see `Mistakes`."""

    def everything(call: Call) -> dict | bool | None:
        taken = own(call)
        if call.size < 2 or not any(taken):
            return None
        return {"whole": whole} if all(each == taken[0] for each in taken) else False

    def by_local_rank(call: Call) -> bool | None:
        taken, on_node = own(call), call.arguments.get("local_size", call.size)
        if call.size <= on_node or not any(taken):
            return None
        return taken[0] != taken[1] and all(each == taken[rank % on_node] for rank, each in enumerate(taken))

    return Mistakes(BY_RANK + text, everything_on_every_rank=everything, share_by_local_rank=by_local_rank, **signs)


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
    if ways > MANY and len(different) > 1 and max(sizes) == 1 and all(shifted(order, orders[0]) for order in orders):
        return words("order-only-rolled")
    if (ways if len(different) > 1 else ways ** (epochs - 1)) > MANY and len(different) < epochs:
        return words("same-order-every-epoch", epochs=epochs)
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


def dealt_out(order: Ids, size: int) -> list[list[int | None]]:
    """Each rank's share of an order: dealt out in turn, and on from its start until all ranks have equally many."""
    n = len(order)
    return [[order[(rank + turn * size) % n] for turn in range(-(-n // size))] for rank in range(size)]


def turns(shares: Sequence[Ids]) -> list[int | None]:
    """What ranks drew in the order of their turns: what each drew first, rank by rank, then what each drew second."""
    return [*chain.from_iterable(zip(*shares, strict=False))]


def dealt_in_turn(order: Ids, shares: Sequence[Ids]) -> Wrong | None:
    """Of an order of samples, and what each rank drew: they are dealt out one by one, and on until all have as many."""
    n, size, place = len(order), len(shares), {sample: at for at, sample in enumerate(order)}
    about = numbers_of(n, shares)
    if wrong := not_shared(n, shares):
        return wrong
    steps = {(place[after] - place[before]) % n for own in shares for before, after in pairwise(own)}
    if size > 1 and n > 2 and steps == {1}:
        return words("contiguous-shards", **about)
    if wrong := as_many_as_needed(**about):
        return wrong
    expected, dealt = dealt_out(order, size), turns(shares)
    if [*map(list, shares)] == expected:
        return None
    if dealt[:n] == [*order]:
        return words("wrong-padding", again=dealt[n:][:6], **about)
    rank = next(rank for rank, own in enumerate(expected) if own != [*shares[rank]])
    actual, due = (", ".join(map(str, each[rank][:4])) for each in (shares, expected))
    return words("wrong-order", rank=rank, actual=actual, expected=due, **about)


def evenly(n: int, shares: Sequence[Ids]) -> Wrong | None:
    """Of what each rank drew of n samples: all ranks have equally many, as few as will do, and no sample is left out,
    in whatever order they come."""
    return not_shared(n, shares) or as_many_as_needed(**numbers_of(n, shares))


def numbers_of(n: int, shares: Sequence[Ids]) -> dict[str, int]:
    """What there is to count, see `as_many_as_needed`."""
    drawn, counts = Counter(chain.from_iterable(shares)), [*map(len, shares)]
    about = {"n": n, "size": len(shares), "most": max(counts), "least": min(counts)}
    missing = n - sum(each in drawn for each in range(n))
    return {**about, "missing": missing, "twice": sum(times > 1 for times in drawn.values())}


def not_shared(n: int, shares: Sequence[Ids]) -> Wrong | None:
    """What is wrong if samples are drawn that are none, or all by all ranks."""
    strange = [each for own in shares for each in own if each is None or not 0 <= each < n]
    about = numbers_of(n, shares)
    if strange:
        return words("unknown-samples", bad="what is no number" if None in strange else strange[0], **about)
    alike = len(shares) > 1 < n and all(len({*own}) == n for own in shares)
    return words("whole-set-on-every-rank", **about) if alike else None


def as_many_as_needed(n: int, size: int, most: int, least: int, missing: int, twice: int) -> Wrong | None:
    """What is wrong with how many samples are drawn, and how often. most, least: that a rank draws. missing, twice: how
    many samples no rank draws, and how many are drawn more than once."""
    expected, equal = -(-n // size), most == least
    if equal and most == expected:
        key = "overlapping-shards" if missing else ""
    elif equal and not twice and 0 < missing < size:
        key = "tail-dropped"
    elif not missing and n < size and most == expected:
        key = "padding-not-repeated"
    elif not missing and not twice:
        key = "no-padding"
    elif equal:
        key = "more-than-needed" if most > expected else "fewer-than-needed"
    else:
        key = "wrong-number"
    about = {"n": n, "size": size, "most": most, "least": least, "missing": missing, "twice": twice}
    return words(key, expected=expected, **about) if key else None
