"""The check of `ShuffledSampler`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, integer, number, optional, record
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.probes.fresh_process import FreshProcess
from autograde.probes.sampler_passes import passes_of
from autograde.verdicts import samplers as of_samplers
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.orders import SamplerOrders
from autograde.verdicts.reshuffling import order_mistakes
from autograde.verdicts.samplers import disturbed, elsewhere, listed_value, not_ints, other_process, wrong_lengths
from autograde.verdicts.shards import dealt_out

# What a rotation may look like, where its distance depends on the number of ranks.
BY_ROTATION = frozenset({"same-samples-each-epoch", "depends-on-size"})

PATIENCE = 20.0  # seconds that the other process may take; it takes two, on a machine that has nothing else to do


class ShuffledSampler(RankCheck, JudgedRun):
    """One order for all ranks, which follows from seed and epoch and from nothing else."""

    todo, points, deadline = "ShuffledSampler", 4, PATIENCE + 5
    consolidation = (
        "What ranks have to agree on without talking must follow from what they all know: here, the seed and the "
        "epoch. A generator of its own leaves everybody else's random numbers alone."
    )
    prices = MappingProxyType({"not-shuffled": 3})

    def cases(self, rng: random.Random) -> list[dict]:
        """Two and three padded samples, evenly many, fewer than ranks; on 4 ranks and on 3.

        Each with four seeds and eight epochs: a sampler that puts few orders to use is found in each grading.
        """

        def case(size: int, sizes: list[int], salt: int) -> dict:
            seed = rng.randrange(1, 10**6)
            others = [seed + 1, seed + 1000]
            one, two, *rest = [*rng.sample(range(1, 8), 4), *rng.sample(range(8, 100), 3)]
            samplers: list[list] = []
            passes: list[list] = []

            def add(samples: int, alone: bool, seed: int | None, *epochs: int | None) -> None:
                passes.extend([len(samplers), epoch] for epoch in epochs)
                samplers.append([samples, alone, seed])

            for samples in sizes:
                add(samples, False, seed, None, None, 0, one, two, None, one, *rest)
                add(samples, False, seed, two)
                for each in (*others, None):
                    add(samples, False, each, None, one, two, *rest)
                add(samples, False, 0, None)
                for each in (seed, *others, 0):
                    add(samples, True, each, None, one, two, *rest)  # each of them is there in shares, too
            luck = rng.sample(range(10**6), size + 1)
            shards = [[samples, n, dealt_out(range(samples), n)] for samples in sizes for n in {1, size}]
            plan = {"samplers": samplers, "passes": passes, "shards": shards}
            return {"size": size, **plan, "luck": luck, "salt": salt}

        cases = [case(4, [4 * rng.randint(3, 6) + 2, 4 * rng.randint(3, 6) + 1, 1], 0)]
        cases += [case(3, [3 * rng.randint(4, 7) + 1, 3 * rng.randint(4, 8), 2], rng.randrange(1, 2**31))]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """This rank's samplers; on rank 0 of one case also those of all ranks in another process."""
        subject = replace(subject, salt="")  # what a hash of text does is seen, and told better, in the other process
        sampler_class = subject.load(shard=shard_of(case))
        if rank.rank > 0 or not case["salt"]:
            return passes_of(sampler_class, "set_epoch", case, rank.rank, case["luck"][rank.rank]) | {"other": None}
        with FreshProcess(passes_of_all, subject, case, salt=case["salt"]) as process:
            own = passes_of(sampler_class, "set_epoch", case, rank.rank, case["luck"][rank.rank])
            return own | {"other": process.answer(PATIENCE)}

    def shape(self, case: dict) -> dict:
        """A list of ids for each pass; on one rank perhaps those of all ranks in another process."""
        passes = len(case["passes"])
        one_pass = record(**listed_value()["properties"], length=integer(0))
        other = other_process(passes, case["size"])
        kinds = {"passes": array(one_pass, passes), "drawn": array(number(), 3), "derived": boolean()}
        return record(**kinds, other=optional(other))

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """What it yields; then whether that repeats, changes and is shared out as it should; then side effects."""
        found: list[Finding | Diagnosis] = not_ints([entry for of_rank in results for entry in of_rank["passes"]])
        if not all(of_rank["derived"] for of_rank in results):
            found.append(of_samplers.finding("not-a-sampler", name=self.todo))
        sizes = [case["samplers"][which][0] for which, _ in case["passes"]]
        found += wrong_lengths(pair for of_rank in results for pair in zip(sizes, of_rank["passes"], strict=True))
        yielded = [[entry["ids"] for entry in of_rank["passes"]] for of_rank in results]
        orders = SamplerOrders(case["size"], case["samplers"], case["passes"], yielded)
        if changes := orders.changes():
            found += changes
        else:
            anew, shares = order_mistakes(orders), orders.shares()
            if any(each.key == "only-rotated" for each in settle([anew])):
                shares = [each for each in shares if not isinstance(each, Finding) or each.key not in BY_ROTATION]
            keys = {each.key for each in shares if isinstance(each, Finding)}
            found += shares
            if "same-samples-each-epoch" not in keys:  # which leaves few orders, so that some come again by chance
                found += anew
            if case["salt"] and "orders-differ-by-rank" not in keys:
                found += elsewhere(results[0]["other"], yielded)
        return found + disturbed(case["luck"], [of_rank["drawn"] for of_rank in results])


def shard_of(case: dict) -> Callable[[int, int, int], list[int]]:
    """A right `shard`, of the data sets and numbers of ranks of this case: it looks up the shares that the case has."""

    known = {(samples, ranks): shares for samples, ranks, shares in case["shards"]}

    def shard(dataset_size: int, rank: int, size: int) -> list[int]:
        if (dataset_size, size) not in known:
            raise ValueError(f"`shard` is asked for {dataset_size} samples on {size} ranks: no sampler has these")
        return [*known[dataset_size, size][rank]]

    return shard


def passes_of_all(subject: Any, case: dict) -> list[list[list[int | None]]]:
    """Runs in a process of its own: the ids of each rank's passes."""
    sampler_class = subject.load(shard=shard_of(case))
    ranks = [passes_of(sampler_class, "set_epoch", case, rank, case["luck"][-1] + rank) for rank in range(case["size"])]
    return [[entry["ids"] for entry in rank["passes"]] for rank in ranks]


CHECK = ShuffledSampler()
