"""The orders in which samplers of several ranks yield samples, by what an order may depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from autograde.rubric.sampling.shares import Ids, dealt_in_turn, dealt_out, turns
from autograde.rubric.words import Words, Wrong

MANY = 9  # samples, from which on two orders that are drawn by themselves are hardly ever the same
KEPT = 0.75  # share of neighbours that two orders have in common if one was made from the other

# Words for orders that are made from one another.
ROTATED = """
only-rotated: Each epoch has an order of its own, but in all of them nearly the same samples are neighbours: one order
begins at another place, or runs backwards. So the same samples meet in a batch again and again. Is the whole order
drawn anew?

only-rotated-by-seed: Each seed has an order of its own, but with all of them nearly the same samples are neighbours:
one order begins at another place, or runs backwards. What does the seed decide?
"""
words = Words(
    ROTATED
    + """
another-pass-differs: A second pass over a sampler, without `{setter}` in between, comes in another order. The order
should follow from the seed and the epoch alone. What else has changed between the two passes?

first-epoch-not-0: Before any `{setter}`, the order is another than after `{setter}({epoch})`. That is where a sampler
begins.

default-seed: A sampler that is made without `seed` has another order than one with `seed=0`.

depends-on-history: After `{setter}({epoch})` a second time, or at once in a new sampler with the same seed, the
sampler gives another order than before. A run that goes on from a checkpoint would get other batches. What does your
sampler keep from earlier passes?

depends-on-size: With {size:rank} the order is another than with one. It should follow from the seed and the epoch
alone, so that a run can go on with fewer ranks.

pass-empty: A sampler is gone through a second time, and yields nothing. An iterator that has reached its end stays
there: does each pass begin with a new one?

epoch-of-all-samplers: `{setter}` of one sampler sets the epoch of another one, too: a sampler that was not told any
epoch begins with the one that the other was told. To whom does the epoch belong?

changes-under-way: `{setter}` in the middle of a pass changes the rest of this pass, which mixes two orders then. The
epoch is that of the passes that begin later. When does your sampler look at it?

not-shuffled: The samples come in their own order, whatever the epoch and the seed.

same-order-every-epoch: Epochs {one} and {other} have one and the same order. What should be different in each of them?

seed-ignored: The order does not depend on the seed: with {one} and {other} it is the same.

not-a-permutation: A single rank, which has all {n:sample} to itself, never draws {missing} of them, and draws others
more than once. An order has each sample once.

orders-differ-by-rank: {n:sample} on {size:rank}: the ranks do not share one order, so some samples are drawn by several
ranks and others by none. What goes into your order that differs between ranks?

same-samples-each-epoch: In each epoch a rank draws the same samples as before, only in another order: no sample ever
moves to another rank. What is shuffled, and when?

padded-before-shuffling: {n:sample} on {size:rank}: those that are drawn twice are the first ones of the data set, in
each epoch, and not those that begin its order. When is the order filled up: before it is shuffled, or after?
"""
)


class Orders:
    """What samplers of `n` samples yielded, by what an order may depend on: whether a rank has all samples to itself,
    the seed, the epoch, or the place in it.

    samplers, passes: see `autograde.probes.sampler_passes.passes_of`; a place is a tuple. yielded: what came, by rank
    and pass. setter: the method that sets a sampler to an epoch or a place. start: where it is before.
    """

    def __init__(
        self,
        samplers: Sequence,
        passes: Sequence,
        yielded: Sequence[Sequence[Ids]],
        setter: str = "set_epoch",
        start: Any = 0,
    ) -> None:
        self.n, self.size, self.samplers = samplers[0][0], len(yielded), samplers
        self.passes = [(which, epoch) for which, epoch, *_ in passes]
        self.under_way = {number for number, (_, _, *more) in enumerate(passes) if len(more) > 1}
        self.yielded = [*zip(*yielded, strict=True)]  # by pass and rank
        self.setter, self.start = setter, start
        self.keys = [*self.keys_by(lambda which: which)]
        of_all = [*self.keys_by(lambda which: 0)]
        self.one_epoch = self.follow_one_epoch(of_all)
        if self.one_epoch:
            self.keys = of_all
        self.first = {key: self.keys.index(key) for key in self.keys}
        self.by_key = {key: self.yielded[number] for key, number in self.first.items()}
        for key, yielded in zip(self.keys, self.yielded, strict=True):
            if any(yielded) and not any(self.by_key[key]):
                self.by_key[key] = yielded
        self.shared = [key for key in self.by_key if not key[0] and (True, *key[1:]) in self.by_key]

    def keys_by(self, whose: Callable[[int], int]) -> Iterator[tuple[bool, int, Any]]:
        """By pass, what its order may depend on. whose: of a sampler's number, whom its epoch belongs to."""
        last: dict[int, Any] = {}
        for which, epoch in self.passes:
            last[whose(which)] = last.get(whose(which), self.start) if epoch is None else epoch
            _, alone, seed = self.samplers[which]
            yield alone, seed or 0, last[whose(which)]

    def follow_one_epoch(self, of_all: Sequence[tuple]) -> bool:
        """Whether all samplers follow the epoch that any of them was set to last. of_all: the keys, if they do."""
        pairs = [*zip(self.keys, of_all, self.yielded, strict=True)]
        sure = {own: yielded for own, every, yielded in pairs if own == every}
        followed = [(own, every, yielded) for own, every, yielded in pairs if own != every and every in sure]
        orders = {str(sure[key]) for key in sure if key[:2] == self.keys[0][:2]}

        def differ(*epochs: Any) -> bool:
            """Whether these have orders of their own, so that a pass shows which of them it followed."""
            known = [sure.get((*self.keys[0][:2], epoch)) for epoch in epochs]
            return None not in known and known[0] != known[1]

        told_apart = any(differ(own[2], every[2]) for own, every, _ in followed)
        follow = all(yielded == sure[every] for _, every, yielded in followed)
        return self.n >= MANY and len(orders) > 1 and told_apart and follow

    @property
    def emptied(self) -> bool:
        """Whether a pass yields nothing on any rank, and another one with the same epoch and seed does."""
        return any(any(self.by_key[key]) and not any(own) for key, own in zip(self.keys, self.yielded, strict=True))

    def repeats(self) -> Wrong | None:
        """What is wrong if passes differ that should be the same."""
        if self.emptied:
            return words("pass-empty")
        if self.one_epoch:
            return words("epoch-of-all-samplers", setter=self.setter)
        for number, (which, epoch) in enumerate(self.passes):
            one = self.first[self.keys[number]]
            if self.yielded[one] == self.yielded[number]:
                continue
            seeds = [self.samplers[self.passes[each][0]][2] for each in (one, number)]
            key = "default-seed" if None in seeds and seeds[0] != seeds[1] else "depends-on-history"
            if number in self.under_way:
                key = "changes-under-way"
            elif epoch is None and self.passes[number - 1][0] == which:
                key = "another-pass-differs"
            elif self.passes[one][1] is None and epoch == self.start and seeds[0] == seeds[1]:
                key = "first-epoch-not-0"
            return words(key, setter=self.setter, epoch=str(self.keys[number][2]).strip("()"))
        return None

    def shuffled(self) -> Wrong | None:
        """What is wrong if a rank that has all samples to itself gets them in their own order."""
        alone = [each[0] for key, each in self.by_key.items() if key[0]]
        in_order = self.n >= MANY and alone and all([*order] == [*range(self.n)] for order in alone)
        return words("not-shuffled") if in_order else None

    def pairs(self, at: int) -> list[tuple[tuple, tuple]]:
        """Pairs of keys that differ at this place alone: 2 for epochs, 1 for seeds. None where there are few samples,
        which may be in one order by chance."""
        return [
            (one, other)
            for one, other in (combinations(self.by_key, 2) if self.n >= MANY else ())
            if [place for place in range(3) if one[place] != other[place]] == [at]
        ]

    def order(self, key: tuple[bool, int, int]) -> Ids:
        """All samples in the order in which they are drawn."""
        return self.by_key[key][0] if key[0] else turns(self.by_key[key])[: self.n]

    def equal(self, at: int) -> list[tuple[tuple, tuple]]:
        """The `pairs` that have one and the same order."""
        return [pair for pair in self.pairs(at) if self.order(pair[0]) == self.order(pair[1])]

    def rotated(self, at: int) -> bool | None:
        """Whether the orders of all `pairs` were made from one another, and some differ; None if none does."""
        pairs = self.pairs(at)
        if pairs and not all(moved(*map(self.order, pair)) for pair in pairs):
            return False
        return None if len(self.equal(at)) == len(pairs) else True

    def anew(self) -> Wrong | None:
        """What is wrong if orders of epochs, or of seeds, are the same, or are moved along."""
        if self.emptied and not all(map(any, self.by_key.values())):
            return words("pass-empty")
        kinds = (2, "same-order-every-epoch", "only-rotated"), (1, "seed-ignored", "only-rotated-by-seed")
        for at, same, moved_along in kinds:
            # Of shares, a rank's own few samples may be in one order by chance.
            if equal := [pair for pair in self.equal(at) if pair[0][0]]:
                return words(same, one=equal[0][0][at], other=equal[0][1][at])
            if self.rotated(at):
                return words(moved_along)
        return None

    def shares(self) -> Wrong | None:
        """What is wrong with how orders are shared out; that they depend on the number of ranks only where it is all
        that is wrong, and not by chance."""
        found = [wrong for key in self.shared if (wrong := self.sharing(key)) is not None]
        other = next((wrong for wrong in found if wrong.key != "depends-on-size"), None)
        return other or (found[0] if found and self.n >= MANY else None)

    def incomplete(self, whole: Sequence[Ids]) -> Wrong | None:
        """What is wrong with an order that a rank has to itself, as it is on each rank, if it has not all samples."""
        for order in whole:
            if None in order or len(order) != self.n or not {*order} <= {*range(self.n)}:
                return dealt_in_turn(range(self.n), [order])
            if missing := self.n - len({*order}):
                return words("not-a-permutation", missing=missing, n=self.n, size=self.size)
        return None

    def sharing(self, key: tuple[bool, int, int]) -> Wrong | None:
        """What is wrong with how one order is shared out. key: of what the ranks have of it."""
        n, size, drawn, whole = self.n, self.size, self.by_key[key], self.by_key[True, *key[1:]]
        about = {"n": n, "size": size}
        if wrong := self.incomplete(whole):
            return wrong
        alike, wrong = all(each == whole[0] for each in whole), dealt_in_turn(whole[0], drawn)
        if alike and (wrong is None or wrong.key not in ("overlapping-shards", "wrong-order")):
            return wrong
        epochs = {tuple(map(frozenset, self.by_key[each])) for each in self.shared if each[1] == key[1]}
        if n >= MANY and len(epochs) == 1 and not self.rotated(2):  # a rotation may do so by chance
            return words("same-samples-each-epoch")
        dealt = turns(drawn)
        if alike and {*dealt[:n]} == {*range(n)} and [*map(list, drawn)] == dealt_out(dealt[:n], size):
            return words("depends-on-size", **about)
        if alike and len(dealt) > n and sorted(dealt) == sorted(number % n for number in range(len(dealt))):
            return words("padded-before-shuffling", **about)
        return words("orders-differ-by-rank", **about)


def moved(one: Ids, other: Ids) -> bool:
    """Whether nearly all samples have the same neighbours in both orders, the last being a neighbour of the first."""
    return len(neighbours(one) & neighbours(other)) >= KEPT * len(one)


def neighbours(order: Ids) -> set[frozenset]:
    """Pairs of samples that stand beside each other."""
    return {frozenset(pair) for pair in zip(order, [*order[1:], *order[:1]], strict=True)}
