"""The check of `shard`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, one_of, optional, record, string
from autograde.contract.subject import describe
from autograde.contract.trouble import raised
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.sampler_passes import listed
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.samplers import listed_value, not_ints
from autograde.verdicts.shards import dealing_mistakes, of_large_shards

from .common import finding as form_finding

finding = Findings("""
few-samples 1
With fewer samples than ranks, your function {does}.
""")


class Shard(RankCheck, JudgedRun):
    """Each sample dealt out in turn, and as many for each rank. One rank is enough: the function needs no other."""

    todo, points = "shard", 3
    consolidation = (
        "Each rank works out its share from two numbers, its own and that of all ranks, and no message is sent. Equal "
        "shares keep the ranks in step; a few samples drawn twice are the price."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two and three padded samples; sizes that divide evenly; fewer samples than ranks; one sample; one rank."""
        splits = [[4 * rng.randint(3, 6) + 2, 4], [4 * rng.randint(3, 6) + 1, 4], [3 * rng.randint(3, 7) + 1, 3]]
        splits += [[4 * rng.randint(2, 6), 4], [rng.randint(5, 9), 1], [2 * rng.randint(3, 8) + 1, 2], [3, 4], [1, 4]]
        return [{"splits": splits}]

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """The student's `shard` for every rank of every split in the case."""
        shard, seen = subject.load(), []
        for samples, size in case["splits"]:
            for number in range(size):
                entry: dict = {"shard": None, "error": None}
                try:
                    entry["shard"] = listed(shard(samples, number, size), most=3 * samples + 10)
                except NotImplementedError:
                    raise
                except Exception as error:
                    entry["error"] = describe(error, subject.filename)
                seen.append(entry)
        return seen

    def shape(self, case: dict) -> dict:
        """A list of ids for each shard of each split, or an error."""
        entry = record(shard=optional(listed_value()), error=optional(string()))
        return array(one_of(entry, "shard", "error"), sum(size for _, size in case["splits"]))

    def judge(self, case: dict, results: list[list[dict]]) -> Iterable[Finding | Diagnosis]:
        """First what is returned at all, then each split by itself."""
        each = iter(results[0])
        splits = [(samples, [next(each) for _ in range(size)]) for samples, size in case["splits"]]
        errors = [(samples < len(own), entry["error"]) for samples, own in splits for entry in own if entry["error"]]
        if many := [error for few, error in errors if not few]:
            return [raised(many[0], self.points)]
        splits = [(samples, [entry["shard"] for entry in own]) for samples, own in splits]
        shards = [shard for _, own in splits for shard in own if shard]
        found: list[Finding | Diagnosis] = [*not_ints(shards)]
        if errors:
            found.append(finding("few-samples", does=f"raises {errors[0][1]}"))
        if strange := [shard["type"] for shard in shards if shard["type"] != "list"]:
            found.append(form_finding("not-a-list", type=strange[0]))
            if not any(shard["ids"] for shard in shards):
                return found
        return found + of_large_shards(
            (samples // len(own), dealing_mistakes(range(samples), [shard["ids"] for shard in own]))
            for samples, own in splits
            if all(own)
        )


CHECK = Shard()
