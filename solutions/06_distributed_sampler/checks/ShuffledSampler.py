"""The check of `ShuffledSampler`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, integer, number, one_of, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.probes.fresh_process import FreshProcess
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.numbers import agree
from autograde.verdicts.orders import SamplerOrders
from autograde.verdicts.reshuffling import order_mistakes

from .common import listed, listed_value, not_ints
from .stand_ins import shard

# What a rotation may look like, where its distance depends on the number of ranks.
BY_ROTATION = frozenset({"same-samples-each-epoch", "depends-on-size"})

PATIENCE = 20.0  # seconds that the other process may take; it takes two, on a machine that has nothing else to do

finding = Findings("""
length-of-the-whole-set 1
`len` of a rank's sampler is {length}, and the sampler yields {n} samples. That is the length of the whole data set. A
`DataLoader` works out its number of batches from it.

wrong-length 1
`len` of a rank's sampler is {length}, but the sampler yields {n} samples.

not-a-sampler 0.5
`ShuffledSampler` is not derived from torch.utils.data.Sampler.

disturbs-generators 1.5
Using the sampler changes the state of the global random generator of {which}. Dropout and augmentation draw from it:
they would draw the same on all ranks, and the same again in each epoch.

another-process-differs 2
With the same seed and epoch, a process that starts later draws another order. A run that is resumed there would not get
the batches of its epoch. What in your code differs from process to process?

another-process-fails 2
The same cell fails when it runs in another process: {error}
""")


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
            return {"size": size, "samplers": samplers, "passes": passes, "luck": luck, "salt": salt}

        cases = [case(4, [4 * rng.randint(3, 6) + 2, 4 * rng.randint(3, 6) + 1, 1], rng.randrange(1, 2**31))]
        cases += [case(3, [3 * rng.randint(4, 7) + 1, 3 * rng.randint(4, 8), 2], 0)]
        ### BEGIN HIDDEN CASES
        cases += [case(4, [4 * rng.randint(3, 6), 3, 2, 4 * rng.randint(20, 30) + 3], 0), case(2, [13, 1], 0)]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """This rank's samplers; on rank 0 of the first case also those of all ranks in another process."""
        sampler_class = subject.load(shard=shard)
        if rank.rank > 0 or not case["salt"]:
            return passes_of(sampler_class, case, rank.rank, case["luck"][rank.rank]) | {"other": None}
        with FreshProcess(passes_of_all, subject, case, salt=case["salt"]) as process:
            own = passes_of(sampler_class, case, rank.rank, case["luck"][rank.rank])
            return own | {"other": process.answer(PATIENCE)}

    def shape(self, case: dict) -> dict:
        """A list of ids for each pass; on one rank perhaps those of all ranks in another process."""
        passes = len(case["passes"])
        one_pass = record(**listed_value()["properties"], length=integer(0))
        ids = array(array(array(optional(integer())), passes), case["size"])
        other = one_of(record(result=optional(ids), error=optional(string())), "result", "error")
        kinds = {"passes": array(one_pass, passes), "drawn": array(number(), 3), "derived": boolean()}
        return record(**kinds, other=optional(other))

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """What it yields; then whether that repeats, changes and is shared out as it should; then side effects."""
        found: list[Finding | Diagnosis] = not_ints([entry for of_rank in results for entry in of_rank["passes"]])
        if not all(of_rank["derived"] for of_rank in results):
            found.append(finding("not-a-sampler"))
        found += wrong_lengths(case, results)
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
        for own, luck in zip(results, case["luck"], strict=False):
            expected = generators_after(luck)
            drawn = zip(expected.items(), own["drawn"], strict=True)
            if moved := [name for (name, value), actual in drawn if not agree(actual, value)]:
                return [*found, finding("disturbs-generators", which=" and ".join(moved))]
        return found


def wrong_lengths(case: dict, results: list[dict]) -> list[Finding]:
    """A finding if `len` is not how many samples came."""
    for of_rank in results:
        for (which, _), entry in zip(case["passes"], of_rank["passes"], strict=True):
            samples, n = case["samplers"][which][0], len(entry["ids"])
            if entry["length"] != n:
                name = "length-of-the-whole-set" if entry["length"] == samples else "wrong-length"
                return [finding(name, length=entry["length"], n=n)]
    return []


def elsewhere(other: dict | None, here: list) -> list[Finding]:
    """What is wrong with what another process draws. here: what the ranks drew, by rank and pass."""
    if other is None or other["error"] is not None:
        return [finding("another-process-fails", error=other["error"] if other else "it gave no answer")]
    return [] if other["result"] == here else [finding("another-process-differs")]


def passes_of_all(subject: Any, case: dict) -> list[list[list[int | None]]]:
    """Runs in a process of its own: the ids of each rank's passes."""
    sampler_class = subject.load(shard=shard)
    ranks = [passes_of(sampler_class, case, rank, case["luck"][-1] + rank) for rank in range(case["size"])]
    return [[entry["ids"] for entry in rank["passes"]] for rank in ranks]


def passes_of(sampler_class: Any, case: dict, rank: int, luck: int) -> dict:
    """What samplers of one rank yield, and what the global generators give then, which were seeded with `luck`."""
    import numpy
    import torch

    torch.manual_seed(luck)
    random.seed(luck)
    numpy.random.seed(luck)
    samplers, seen = [], []
    for samples, alone, seed in case["samplers"]:
        place = (samples, 0, 1) if alone else (samples, rank, case["size"])
        if seed is None:
            samplers.append(sampler_class(*place))
        elif len(samplers) % 2:
            samplers.append(sampler_class(*place, seed))
        else:
            names = ("dataset_size", "rank", "size")
            samplers.append(sampler_class(**dict(zip(names, place, strict=True)), seed=seed))
    for which, epoch in case["passes"]:
        if epoch is not None:
            samplers[which].set_epoch(epoch)
        length = len(samplers[which])
        seen.append({**listed(iter(samplers[which]), most=3 * case["samplers"][which][0] + 10), "length": length})
    drawn = [torch.rand(1, dtype=torch.float64).item(), random.random(), float(numpy.random.random())]
    derived = isinstance(samplers[0], torch.utils.data.Sampler)
    return {"passes": seen, "drawn": drawn, "derived": derived}


def generators_after(luck: int) -> dict[str, float]:
    """By library, the number that its global generator gives if nobody but `luck` touched it."""
    import numpy
    import torch

    return {
        "torch": torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(luck)).item(),
        "random": random.Random(luck).random(),
        "numpy": float(numpy.random.RandomState(luck).random_sample()),
    }


CHECK = ShuffledSampler()
