"""The orders in which samplers of several ranks yield samples: whether they repeat, change and fit together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from course.sharding import Ids, mistakes, turns

MANY = 9  # samples, from which on two orders that are drawn by themselves are hardly ever the same
Seen = list[tuple[str, dict]]  # names of mistakes, each with the numbers seen


class SamplerOrders:
    """What samplers yielded, pass by pass.

    size: number of ranks. samplers: [samples, whether it has them all to itself, seed or None], one for each sampler
    that every rank made. passes: [number of the sampler, epoch that it was set to before, or None], in
    their order. yielded: what came, by rank and pass.
    """

    def __init__(self, size: int, samplers: Sequence, passes: Sequence, yielded: Sequence[Sequence[Ids]]) -> None:
        self.size = size
        self.samplers = samplers
        self.passes = passes
        self.yielded = [[own[number] for own in yielded] for number in range(len(passes))]
        self.orders: dict[tuple, list[Ids]] = {}  # by what an order may depend on: the ids of each rank
        for number, ids in enumerate(self.yielded):
            self.orders.setdefault(self.key(number), ids)

    def key(self, number: int) -> tuple[int, bool, int, int]:
        """What the order of a pass may depend on: samples, whether alone, seed, epoch."""
        samples, alone, seed = self.samplers[self.passes[number][0]]
        return samples, alone, seed or 0, self.epoch(number) or 0

    def epoch(self, number: int) -> int | None:
        """The epoch that the sampler of a pass was last set to; None: never."""
        which = self.passes[number][0]
        return next((e for other, e in reversed(self.passes[: number + 1]) if other == which and e is not None), None)

    def changes(self) -> Seen:
        """Passes that are to yield the same, and do not; the one kind that says most."""
        found: dict[str, dict] = {}
        first: dict[tuple, int] = {}
        for number, (which, epoch) in enumerate(self.passes):
            one = first.setdefault(self.key(number), number)
            if self.yielded[one] == self.yielded[number]:
                continue
            seeds = {self.samplers[self.passes[i][0]][2] for i in (one, number)}
            if which == self.passes[number - 1][0] and epoch is None:
                name = "another-pass-differs"
            elif self.epoch(one) is None and epoch == 0 and len(seeds) == 1:
                name = "first-epoch-not-0"
            elif None in seeds and len(seeds) == 2:
                name = "default-seed"
            else:
                name = "depends-on-history"
            found.setdefault(name, {"epoch": self.key(number)[3]})
        order = ("another-pass-differs", "first-epoch-not-0", "depends-on-history", "default-seed")
        return [(name, found[name]) for name in order if name in found][:1]

    def repeats(self) -> Seen:
        """Orders that are to differ, and do not. Few samples may be in one order by chance, so they do not count."""
        large = {key: ids for key, ids in self.orders.items() if key[0] >= MANY and not key[1]}
        if large and all(turns(ids)[: key[0]] == [*range(key[0])] for key, ids in large.items()):
            return [("not-shuffled", {})]
        found: dict[str, dict] = {}
        for (samples, _, seed, epoch), ids in large.items():
            for (others, _, other_seed, other_epoch), other_ids in large.items():
                if samples != others or ids != other_ids:
                    continue
                if seed == other_seed and epoch < other_epoch:
                    found.setdefault("same-order-each-epoch", {"epochs": f"{epoch} and {other_epoch}", "seed": seed})
                elif seed < other_seed and epoch == other_epoch:
                    found.setdefault("seed-ignored", {"seeds": f"{seed} and {other_seed}", "epoch": epoch})
        return [*found.items()]

    def shares(self) -> list[tuple[int, Seen]]:
        """For each order how many samples there are for a rank, and how it is shared out among the ranks."""
        return [
            (samples // self.size, self.shared_out(samples, seed, self.orders[samples, True, seed, epoch], shards))
            for (samples, alone, seed, epoch), shards in self.orders.items()
            if not alone and (samples, True, seed, epoch) in self.orders
        ]

    def shared_out(self, samples: int, seed: int, whole: list[Ids], shards: list[Ids]) -> Seen:
        """What is wrong with the shards of one order. whole: that order, as each rank has it where it is alone."""
        if any(i is None or not 0 <= i < samples for i in chain.from_iterable(whole + shards)):
            seen = (mistakes(samples, dealt) for dealt in (shards, *([own] for own in whole)))
            return next(filter(None, seen), [])
        if len(whole[0]) != samples:
            return mistakes(samples, whole[:1])
        if missing := samples - len({*whole[0]}):
            return [("not-a-permutation", {"samples": samples, "missing": missing})]
        place = {sample: position for position, sample in enumerate(whole[0])}
        seen = mistakes(samples, [[place[i] for i in own] for own in shards])
        alike = all(other == whole[0] for other in whole)
        if alike and not {name for name, _ in seen} & {"overlapping-shards", "wrong-order"}:
            for _, about in seen:
                for positions in {"drawn", "own"} & {*about}:
                    about[positions] = [whole[0][i] for i in about[positions]]
            return seen
        epochs = [ids for key, ids in self.orders.items() if key[:3] == (samples, False, seed)]
        drawn = {tuple(map(frozenset, ids)) for ids in epochs}
        if samples >= MANY and len(epochs) > 1 and len(drawn) == 1:
            return [("same-samples-each-epoch", {})]
        dealt = turns(shards)
        if alike and {*dealt[:samples]} == {*range(samples)} and dealt[samples:] == dealt[: len(dealt) - samples]:
            return [("depends-on-size", {"size": self.size})]
        return [("orders-differ-by-rank", {"samples": samples, "size": self.size})]
