"""Checks of samplers of several ranks: the orders in which they yield samples, and what else they do.

A probe shows what `autograde.probes.sampler_passes` sees of a plan of passes over samplers of one size: `passes`,
`drawn` and `derived`, and on rank 0 perhaps `other` and `error`, of another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from autograde.probes.sampler_passes import Ids as ListedIds
from autograde.probes.sampler_passes import Pass, Passes, generators_after
from autograde.rubric.judge import Call, once
from autograde.rubric.judges.shares import Ids, dealt_in_turn, dealt_out, turns
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.rounding import EXACT
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
not-a-list: The function returns a value of type {type}, where a list is expected.

not-ints: Some samples are of type {kinds}, where ints are expected. Other code may look them up in a dictionary, or
write them to a file.

length-of-the-whole-set: `len` of a rank's sampler is {length}, and the sampler yields {n:sample}. That is the length of
the whole data set. A `DataLoader` works out its number of batches from it.

wrong-length: `len` of a rank's sampler is {length}, but the sampler yields {n:sample}.

not-a-sampler: The class is not derived from torch.utils.data.Sampler.

disturbs-generators: Using the sampler changes the state of the global random generator of {which}. Dropout and
augmentation draw from it: they would draw other numbers than without the sampler, and where it is seeded, the same on
all ranks in each epoch.

another-process-differs: With the same seed and place, the sampler of a process that starts later {does}. A run that is
resumed there would not get the batches of its epoch. What in your code differs from process to process?

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
        told = [(yielded, sure[every]) for own, every, yielded in pairs if own != every and every in sure]
        orders = {str(sure[key]) for key in sure if key[:2] == self.keys[0][:2]}
        return self.n >= MANY and len(orders) > 1 and bool(told) and all(one == other for one, other in told)

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
        in_order = self.n >= MANY and all([*order] == [*range(self.n)] for order in alone)
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


@once
def orders(call: Call) -> Orders:
    """What the samplers yielded."""
    yielded = [[each.ids for each in own] for own in call.of("passes")]
    return Orders(call.arguments["samplers"], call.arguments["passes"], yielded)


def fits_plan(case: dict, arguments: dict, seen: Passes) -> bool:
    """Whether there is a pass for each in the plan, and three generators: a check's `fits`."""
    others = seen.other or []
    shapes = [len(seen.passes), *map(len, others)]
    return len(seen.drawn) == 3 and {*shapes} == {len(arguments["passes"])} and len(others) in (0, case["size"])


def elsewhere(call: Call) -> Wrong | None:
    """Another process has the same orders."""
    other, here = call.seen[0].other, [[each.ids for each in own] for own in call.of("passes")]
    if not call.arguments["salt"] or other == here:
        return None
    does = "draws another order" if other else f"fails ({call.seen[0].error or 'it gives no answer'})"
    return words("another-process-differs", does=does)


@once
def shares(call: Call) -> Wrong | None:
    """What is wrong with how the orders are shared out."""
    return orders(call).shares()


def on_other_ranks(call: Call) -> Wrong | None:
    """Another number of ranks has the same orders."""
    wrong = shares(call)
    return wrong if wrong is not None and wrong.key == "depends-on-size" else None


def shared_out(call: Call) -> Wrong | None:
    """Ranks share each order; that it is another one with other ranks is judged elsewhere."""
    return None if on_other_ranks(call) else shares(call)


def generators(call: Call) -> Wrong | None:
    """The global generators have not moved."""
    for rank, drawn in enumerate(call.of("drawn")):
        untouched = generators_after(call.arguments["luck"] + rank)
        if which := [name for name, one in zip(untouched, drawn, strict=True) if not EXACT(one, untouched[name])]:
            return words(
                "disturbs-generators", which=["Python's `random`" if each == "random" else each for each in which]
            )
    return None


def ints_and_length(call: Call) -> Wrong | None:
    """Ints, as many as `len` says, from a Sampler of torch's."""
    return ints_and_length_of(call, [each for own in call.of("passes") for each in own])


def begun_anew(call: Call) -> Wrong | None:
    """The same, but for passes that yield nothing because each begins where the one before it has ended."""
    every = [each for own in call.of("passes") for each in own]
    return ints_and_length_of(call, [each for each in every if each.ids] if orders(call).emptied else every)


def ints_and_length_of(call: Call, every: Sequence[Pass]) -> Wrong | None:
    """What is wrong with the ints in these passes, and their number."""
    for each in every:
        if each.length != len(each.ids):
            whole = each.length == call.arguments["samplers"][0][0]
            key = "length-of-the-whole-set" if whole else "wrong-length"
            return words(key, length=each.length, n=len(each.ids))
    return not_ints(every) or (None if all(call.of("derived")) else words("not-a-sampler"))


def repeated(call: Call) -> Wrong | None:
    """Orders follow from the seed and the epoch alone."""
    return orders(call).repeats() or orders(call).shuffled() or on_other_ranks(call) or elsewhere(call)


# Mistakes of those whose orders are made from one another.
ROTATION = Mistakes(
    ROTATED,
    only_rotated=lambda call: orders(call).rotated(2),
    only_rotated_by_seed=lambda call: orders(call).rotated(1),
)


def drawn_anew(call: Call) -> Wrong | None:
    """Each epoch and each seed has an order of its own."""
    return orders(call).shuffled() or orders(call).anew()


def not_a_list(types: Iterable[str]) -> Wrong | None:
    """What is wrong if a value is no list. types: of values."""
    other = next((each for each in types if each != "list"), None)
    return words("not-a-list", type=other) if other else None


def not_ints(lists: Iterable[ListedIds]) -> Wrong | None:
    """What is wrong if lists hold what is no int."""
    kinds = sorted({kind for each in lists for kind in each.kinds})
    return words("not-ints", kinds=kinds[:3]) if kinds else None
