"""Verdicts on which samples the ranks' loaders draw. Pure functions of samples' numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from autograde.check import Finding
from autograde.findings import Findings

finding = Findings("""
whole-set-on-every-rank 3
Each of {size} ranks draws all {n} samples. That takes as long as one rank alone. Which samples are a rank's own?

dealt-on-one-node 2
On {size} ranks, on nodes of {local}, a rank draws {drawn} of {n} samples, as if its node were alone. How many ranks
take part in all?

samples-left-out 2
On {size} ranks, {missing} of {n} samples are drawn by no rank in an epoch.

unequal-shares 2
Of {n} samples, {size} ranks draw {numbers}, in the order of the ranks. A rank with a batch less leaves the others
waiting in their next collective.

unknown-samples 3
What a rank draws are not samples of the set: {number} is drawn, and there are {n} of them.

too-many-drawn 2
Of {n} samples, each of {size} ranks draws {drawn} in an epoch: more than it takes for each sample to be drawn.

last-batch-dropped 2
A rank draws {drawn} samples, {batch} at a time: those that do not fill a batch are left out.

batch-size-divided 2
The batches of a rank hold {seen} samples where `batch_size` is {batch}. That is the number for one rank.

wrong-batches 2
The batches of a rank hold {seen} samples where `batch_size` is {batch}.

not-shuffled 2
Every epoch visits the samples in the order in which they are stored.

same-order-every-epoch 2
Two epochs have the same order: what `set_epoch` tells changes nothing.

not-alike 1.5
Two loaders with the same seed draw different samples in the same epoch.

seed-ignored 1.5
Two loaders with different seeds draw the same order.
""")


def shares_of(
    n: int, batch_size: int, epochs: Sequence[Sequence[Sequence[Sequence[int]]]], local_size: int | None = None
) -> list[Finding]:
    """What is wrong with the batches, [rank][batch][sample], that the ranks draw of `n` samples in each epoch.

    Due are equally many on each rank, as few as will do, and each sample at least once. local_size: ranks of a node.
    """
    for ranks in epochs:
        if found := one_epoch(n, batch_size, ranks, local_size):
            return found
    return []


def one_epoch(n: int, batch_size: int, ranks: Sequence, local_size: int | None) -> list[Finding]:
    """The same for one epoch."""
    size, due = len(ranks), math.ceil(n / len(ranks))
    drawn = [[number for batch in own for number in batch] for own in ranks]
    counts = [len(own) for own in drawn]
    about = {"n": n, "size": size, "batch": batch_size, "drawn": counts[0]}
    if odd := [number for own in drawn for number in own if not 0 <= number < n]:
        return [finding("unknown-samples", number=odd[0], **about)]
    missing = n - len({number for own in drawn for number in own})
    if size > 1 and n > 1 and all(set(own) == set(range(n)) for own in drawn):
        return [finding("whole-set-on-every-rank", **about)]
    full = due // batch_size * batch_size
    if missing and due > full and all(count == full for count in counts):
        return [finding("last-batch-dropped", **about)]
    if len(set(counts)) > 1:
        found = [finding("unequal-shares", numbers=", ".join(map(str, counts)), **about)]
        return found + ([finding("samples-left-out", missing=missing, **about)] if missing else [])
    if counts[0] > due:
        on_node = local_size and local_size < size and counts[0] == math.ceil(n / local_size)
        return [finding("dealt-on-one-node" if on_node else "too-many-drawn", local=local_size, **about)]
    if missing:
        return [finding("samples-left-out", missing=missing, **about)]
    return wrong_batches(batch_size, ranks, size)


def wrong_batches(batch_size: int, ranks: Sequence, size: int) -> list[Finding]:
    """A finding if some rank's batches, but for its last, are not of `batch_size`."""
    for own in ranks:
        held = [len(batch) for batch in own]
        if any(one != batch_size for one in held[:-1]) or max(held, default=0) > batch_size:
            divided = size > 1 and held[0] == max(1, batch_size // size)
            seen = ", ".join(str(one) for one, _ in Counter(held).most_common())
            return [finding("batch-size-divided" if divided else "wrong-batches", seen=seen, batch=batch_size)]
    return []


def order_mistakes(loaders: Sequence[Sequence[Sequence[Sequence[Sequence[int]]]]]) -> list[Finding]:
    """What is wrong with the orders in which three loaders draw, given the batches as [loader][rank][epoch][batch].

    The first two have the same seed, the third another. The third epoch is the first again. From 9 samples on: a right
    answer repeats an order by chance where there are few.
    """
    flat = [[[list(chain.from_iterable(epoch)) for epoch in rank] for rank in loader] for loader in loaders]
    one, again, other = flat
    if all(order[:-1] == sorted(order[:-1]) for rank in one for order in rank):  # the last may be padding
        return [finding("not-shuffled")]
    if any(rank[0] != rank[2] for rank in one) or one != again:
        return [finding("not-alike")]
    if any(rank[0] == rank[1] for rank in one):
        return [finding("same-order-every-epoch")]
    return [finding("seed-ignored")] if any(a[0] == b[0] for a, b in zip(one, other, strict=True)) else []
