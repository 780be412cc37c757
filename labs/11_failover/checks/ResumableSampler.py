"""The check of `ResumableSampler`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, integer, number, optional, record
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.fresh_process import FreshProcess
from autograde.probes.sampler_passes import passes_of
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.reshuffling import order_mistakes
from autograde.verdicts.samplers import disturbed, elsewhere, listed_value, not_ints, other_process, wrong_lengths
from autograde.verdicts.samplers import finding as of_samplers

from .rest_of_epoch import apart, changed, rest_mistakes, whole_orders

PATIENCE = 20.0  # seconds that the other process may take; it takes two, on a machine that has nothing else to do
SETTER = "set_position"


class ResumableSampler(RankCheck, JudgedRun):
    """The rest of an epoch, for any number of ranks, whatever was before.

    Its cases are those of `autograde.probes.sampler_passes`.
    """

    todo, points, deadline = "ResumableSampler", 4, PATIENCE + 5
    consolidation = (
        "A place in an epoch is a number of samples, not of steps or of a rank's own: then any number of ranks can go "
        "on from it. The sampler is told its place, because only the training knows what is done."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Places that are multiples of the ranks and others, the last sample, the end and behind it; few samples."""

        def case(size: int, sizes: list[int], salt: int) -> dict:
            seed, samplers, passes = rng.randrange(1, 10**6), [], []
            one, two = rng.sample(range(1, 60), 2)

            def add(samples: int, alone: bool, seed: int | None, *places: list[int] | None) -> None:
                passes.extend([len(samplers), place] for place in places)
                samplers.append([samples, alone, seed])

            for samples in sizes:
                odd = [count for count in range(1, samples) if count % size] or [1]
                some = sorted({rng.choice(odd), rng.choice(odd), samples - 1, min(samples, size), samples // 2})
                for each in (seed, seed + 1, None):
                    add(samples, True, each, None, [0, 0], [one, 0], [two, 0])
                add(samples, True, 0, None)
                behind = [samples, samples + 1, 3 * samples + 2]
                add(samples, False, seed, None, None, *([one, count] for count in some), [two, 0], [two, some[0]])
                add(samples, False, seed, *([two, count] for count in behind), [one, some[0]], [one, some[0]], None)
                add(samples, False, seed, [0, some[-1]], [0, 0])
                add(samples, False, seed, [one, some[0]], None, [two, some[0]], [one, some[0]], None)
                passes[-5] += [1]  # as a loader with workers draws ahead
                passes[-3] += [1]
            luck = rng.sample(range(10**6), size + 1)
            return {"size": size, "samplers": samplers, "passes": passes, "salt": salt, "luck": luck}

        cases = [case(4, [4 * rng.randint(4, 7) + 2, 2], 0)]
        cases += [case(3, [3 * rng.randint(4, 8) + 1, 5], rng.randrange(1, 2**31))]
        cases += [case(1, [13, 1], 0)]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """This rank's samplers; on rank 0 of one case also those of all ranks in another process."""
        subject = replace(subject, salt="")  # what a hash of text does is seen, and told better, in the other process
        sampler_class = subject.load()
        if rank.rank > 0 or not case["salt"]:
            return passes_of(sampler_class, SETTER, case, rank.rank, case["luck"][rank.rank]) | {"other": None}
        with FreshProcess(passes_of_all, subject, case, salt=case["salt"]) as process:
            own = passes_of(sampler_class, SETTER, case, rank.rank, case["luck"][rank.rank])
            return own | {"other": process.answer(PATIENCE)}

    def shape(self, case: dict) -> dict:
        """A list of ids for each pass; on one rank perhaps those of all ranks in another process."""
        passes = len(case["passes"])
        one_pass = record(**listed_value()["properties"], length=integer(0))
        kinds = {"passes": array(one_pass, passes), "drawn": array(number(), 3), "derived": boolean()}
        return record(**kinds, other=optional(other_process(passes, case["size"])))

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """Types and lengths; then the orders; then what is left of them; then side effects."""
        found: list[Finding | Diagnosis] = not_ints([entry for of_rank in results for entry in of_rank["passes"]])
        if not all(of_rank["derived"] for of_rank in results):
            found.append(of_samplers("not-a-sampler", name=self.todo))
        sizes = [case["samplers"][which][0] for which, *_ in case["passes"]]
        found += wrong_lengths(pair for of_rank in results for pair in zip(sizes, of_rank["passes"], strict=True))
        drawn = [[entry["ids"] for entry in of_rank["passes"]] for of_rank in results]
        shared, yielded = apart(case, drawn, SETTER)
        found += shared
        if mistakes := changed(case, yielded, SETTER):
            return [*found, *mistakes]
        found += [*order_mistakes(whole_orders(case, yielded)), *rest_mistakes(case, yielded)]
        if case["salt"]:
            found += elsewhere(results[0]["other"], drawn)
        return found + disturbed(case["luck"], [of_rank["drawn"] for of_rank in results])


def passes_of_all(subject: Any, case: dict) -> list[list[list[int | None]]]:
    """Runs in a process of its own: the ids of each rank's passes."""
    sampler_class = subject.load()
    ranks = [passes_of(sampler_class, SETTER, case, rank, case["luck"][-1] + rank) for rank in range(case["size"])]
    return [[entry["ids"] for entry in rank["passes"]] for rank in ranks]


CHECK = ResumableSampler()
