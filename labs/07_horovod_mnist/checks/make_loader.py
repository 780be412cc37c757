"""The check of `make_loader`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank
from autograde.contract.schema import array, boolean, integer, record
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import NumberedSet, ids_of
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts.orders import MANY, SamplerOrders
from autograde.verdicts.reshuffling import order_mistakes
from autograde.verdicts.shards import loader_mistakes

from .common import HorovodCheck, seeds

finding = Findings("""
no-sampler 3
The loader's sampler has no `set_epoch`, so nothing can tell it to shuffle anew.
""")


class MakeLoader(HorovodCheck):
    """What the ranks draw, by the samples' numbers."""

    todo, points = "make_loader", 3
    consolidation = (
        "All ranks shuffle alike, and each takes its own part, so together they see every image in every epoch. They "
        "make equally many steps, and none waits for a partner that has finished."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Samples that ranks do not divide, on nodes of two; fewer samples than ranks.

        Who drops what is left over among the ranks, and who drops the last batch, draw another number in each.
        """
        cases = [self.draw(rng, 4, 4 * rng.randint(9, 10) + rng.choice((1, 2)), 8, 2), self.draw(rng, 3, 2, 2, 3)]
        cases += [self.draw(rng, 2, 2 * rng.randint(5, 6) + 1, 4, 2), self.draw(rng, 1, 11, 4, 1)]
        return cases

    def draw(self, rng: random.Random, size: int, samples: int, batch_size: int, local_size: int) -> dict:
        """One case. The first epoch comes again at the end, and the first seed too."""
        first, *others = rng.sample(range(1, 50), 4)
        seed = rng.randrange(1000)
        more = [seed + 1, seed + 1000]
        shape = {"size": size, "samples": samples, "batch_size": batch_size, "local_size": local_size}
        return shape | {"epochs": [first, *others, first], "seeds": [seed, seed, *more]} | seeds(rng, "data")

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """What the student's loaders draw in some epochs."""
        seen = []
        with seeded_apart(rank.rank), simulated_node(rank.rank % case["local_size"], case["local_size"]):
            make_loader = subject.load()
            for seed in case["seeds"]:
                loader = make_loader(NumberedSet(case["samples"], case["data"]), case["batch_size"], seed)
                set_epoch, epochs = getattr(loader.sampler, "set_epoch", None), []
                for epoch in case["epochs"]:
                    if set_epoch is not None:
                        set_epoch(epoch)
                    epochs.append([ids_of(inputs) for inputs, _ in loader])
                seen.append({"set_epoch": set_epoch is not None, "epochs": epochs})
        return seen

    def shape(self, case: dict) -> dict:
        """Batches of each epoch of each loader."""
        epochs = array(array(array(integer(), least=1)), len(case["epochs"]))
        return array(record(set_epoch=boolean(), epochs=epochs), len(case["seeds"]))

    def judge(self, case: dict, results: list[list[dict]]) -> Iterable[Finding | Diagnosis]:
        """The shares first, then the orders where there are enough samples for them."""
        samples, found = case["samples"], []
        if not all(loader["set_epoch"] for of_rank in results for loader in of_rank):
            found.append(finding("no-sampler"))
        for loader in zip(*results, strict=True):
            epochs = [*zip(*(of_rank["epochs"] for of_rank in loader), strict=True)]
            if shares := loader_mistakes(samples, case["batch_size"], epochs, case["local_size"]):
                return found + shares
        if samples < MANY:
            return found
        samplers = [[samples, False, seed] for seed in case["seeds"]]
        passes = [[which, epoch] for which in range(len(samplers)) for epoch in case["epochs"]]
        drawn = [[[*chain(*epoch)] for loader in of_rank for epoch in loader["epochs"]] for of_rank in results]
        orders = SamplerOrders(len(results), samplers, passes, drawn)
        # What changes on one rank changes on several, too: there ranks may disagree, which is one mistake, not two.
        changes = orders.changes() if len(results) > 1 else []
        return found + (changes or order_mistakes(orders))


CHECK = MakeLoader()
