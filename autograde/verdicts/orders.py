"""Verdicts on the orders in which samplers of several ranks yield samples: whether they repeat, change and fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.shards import Ids, dealing_mistakes, of_large_shards, share_mistakes, turns

MANY = 9  # samples, from which on two orders that are drawn by themselves are hardly ever the same

finding = Findings("""
another-pass-differs 3
A second pass over a sampler, without `{setter}` in between, comes in another order. The order should follow from the
seed and the epoch alone. What else has changed between the two passes?

first-epoch-not-0 1
Before any `{setter}`, the order is another than after `{told}`. That is where a sampler begins.

default-seed 1
A sampler that is made without `seed` has another order than one with `seed=0`.

depends-on-history 2
After `{told}` a second time, or at once in a new sampler with the same seed, the sampler gives another order than
before. A run that goes on from a checkpoint would get other batches. What does your sampler keep from
earlier passes?

not-shuffled 2
The samples come in their own order, whatever the epoch and the seed.

same-order-every-epoch 2
Epochs {epochs} have one and the same order. What should be different in each of them?

seed-ignored 1.5
The order does not depend on the seed: epoch {epoch} has the same one with {seeds}.

not-a-permutation 3
A single rank, which has all {n} samples to itself, never draws {missing} of them, and draws others more than once. An
order has each sample once.

orders-differ-by-rank 3
{n} samples on {size} ranks: the ranks do not share one order, so some samples are drawn by several ranks and others by
none. What goes into your order that differs between ranks?

same-samples-each-epoch 2
In each epoch a rank draws the same samples as before, only in another order: no sample ever moves to another rank. What
is shuffled, and when?

padded-before-shuffling 2
{n} samples on {size} ranks: those that are drawn twice are the first ones of the data set, in each epoch, and not those
that begin its order. When is the order filled up: before it is shuffled, or after?

depends-on-size 1
With {size} ranks the order is another than with one. It should follow from the seed and the epoch alone, so that a run
can go on with fewer ranks.
""")


class SamplerOrders:
    """What samplers yielded, pass by pass.

    size: number of ranks. samplers: [samples, whether it has them all to itself, seed or None], one for each sampler
    that every rank made. passes: [number of the sampler, epoch that it was set to before, or None], in
    their order. yielded: what came, by rank and pass. setter: name of the method that sets the epoch; it may also set a
    place in it, a tuple that stands for the epoch then. start: what a sampler is set to at first.
    """

    def __init__(
        self,
        size: int,
        samplers: Sequence,
        passes: Sequence,
        yielded: Sequence[Sequence[Ids]],
        setter: str = "set_epoch",
        start: int | tuple = 0,
    ) -> None:
        self.size = size
        self.setter = setter
        self.start = start
        self.samplers = samplers
        self.passes = passes
        self.yielded = [[of_rank[number] for of_rank in yielded] for number in range(len(passes))]
        self.orders: dict[tuple, list[Ids]] = {}  # by what an order may depend on: the ids of each rank
        for number, ids in enumerate(self.yielded):
            self.orders.setdefault(self.key(number), ids)

    def key(self, number: int) -> tuple[int, bool, int, Any]:
        """What the order of a pass may depend on: samples, whether alone, seed, epoch."""
        samples, alone, seed = self.samplers[self.passes[number][0]]
        epoch = self.epoch(number)
        return samples, alone, seed or 0, self.start if epoch is None else epoch

    def epoch(self, number: int) -> Any:
        """The epoch that the sampler of a pass was last set to; None: never."""
        which = self.passes[number][0]
        return next((e for other, e in reversed(self.passes[: number + 1]) if other == which and e is not None), None)

    def changes(self) -> list[Finding]:
        """Passes that are to yield the same, and do not; the one kind that says most."""
        found: dict[str, Any] = {}  # by key, the epoch
        first: dict[tuple, int] = {}
        for number, (which, epoch) in enumerate(self.passes):
            one = first.setdefault(self.key(number), number)
            if self.yielded[one] == self.yielded[number]:
                continue
            seeds = {self.samplers[self.passes[i][0]][2] for i in (one, number)}
            if which == self.passes[number - 1][0] and epoch is None:
                name = "another-pass-differs"
            elif self.epoch(one) is None and epoch == self.start and len(seeds) == 1:
                name = "first-epoch-not-0"
            elif None in seeds and len(seeds) == 2:
                name = "default-seed"
            else:
                name = "depends-on-history"
            found.setdefault(name, self.key(number)[3])
        order = ("another-pass-differs", "first-epoch-not-0", "depends-on-history", "default-seed")
        return [finding(name, setter=self.setter, told=self.told(found[name])) for name in order if name in found][:1]

    def told(self, epoch: int | tuple) -> str:
        """The call that sets an epoch, as text."""
        given = epoch if isinstance(epoch, tuple) else [epoch]
        return f"{self.setter}({', '.join(map(str, given))})"

    def repeats(self) -> list[Finding]:
        """Orders that are to differ, and do not. Few samples may be in one order by chance, so they do not count."""
        large = {key: ids for key, ids in self.orders.items() if key[0] >= MANY and not key[1]}
        if large and all(map(unshuffled, large.values())):
            return [finding("not-shuffled")]
        found: dict[str, Finding] = {}
        for (samples, _, seed, epoch), ids in large.items():
            for (others, _, other_seed, other_epoch), other_ids in large.items():
                if samples != others or ids != other_ids:
                    continue
                if seed == other_seed and epoch < other_epoch:
                    same = finding("same-order-every-epoch", epochs=f"{epoch} and {other_epoch}")
                    found.setdefault(same.key, same)
                elif seed < other_seed and epoch == other_epoch:
                    same = finding("seed-ignored", seeds=f"{seed} and {other_seed}", epoch=epoch)
                    found.setdefault(same.key, same)
        return [*found.values()]

    def shares(self) -> list[Finding | Diagnosis]:
        """How each order is shared out among the ranks."""
        return of_large_shards(
            (n // self.size, self.shared_out(n, seed, self.orders[n, True, seed, epoch], shards))
            for (n, alone, seed, epoch), shards in self.orders.items()
            if not alone and (n, True, seed, epoch) in self.orders
        )

    def shared_out(self, n: int, seed: int, whole: list[Ids], shards: list[Ids]) -> list[Finding | Diagnosis]:
        """What is wrong with the shards of one order. whole: that order, as each rank has it where it is alone."""
        for dealt in whole:
            if found := whole_mistakes(n, dealt):
                return found
        seen = dealing_mistakes(whole[0], shards)
        alike = all(other == whole[0] for other in whole)
        keys = {each.key for each in seen if isinstance(each, Finding)}
        if alike and not keys & {"overlapping-shards", "wrong-order"}:
            return seen
        epochs = [ids for key, ids in self.orders.items() if key[:3] == (n, False, seed)]
        drawn = {tuple(map(frozenset, ids)) for ids in epochs}
        if n >= MANY and len(epochs) > 1 and len(drawn) == 1:
            return [finding("same-samples-each-epoch")]
        dealt = turns(shards)
        if alike and {*dealt[:n]} == {*range(n)} and dealt[n:] == dealt[: len(dealt) - n]:
            return [finding("depends-on-size", size=self.size)]
        filled = sorted(number % n for number in range(len(dealt)))
        if alike and len(dealt) > n and None not in dealt and sorted(dealt) == filled:
            return [finding("padded-before-shuffling", n=n, size=self.size)]
        return [finding("orders-differ-by-rank", n=n, size=self.size)]


def whole_mistakes(n: int, dealt: Ids) -> list[Finding | Diagnosis]:
    """What is wrong with what a rank draws that has all `n` samples to itself, in whatever order."""
    missing = n - len({*dealt})
    if len(dealt) != n or not all(number is not None and 0 <= number < n for number in dealt):
        return share_mistakes(n, [dealt])
    return [finding("not-a-permutation", n=n, missing=missing)] if missing else []


def unshuffled(shards: Sequence[Ids]) -> bool:
    """Whether each rank draws its samples in their own order; the last may be padding."""
    return all(None not in shard and [*shard[:-1]] == sorted(shard[:-1]) for shard in shards)
