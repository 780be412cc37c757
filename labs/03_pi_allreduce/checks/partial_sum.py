"""The check of `partial_sum`."""

from __future__ import annotations

import math
import random
from typing import Any

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, described_value, numbers, one_of, optional, record, string
from autograde.contract.subject import describe
from autograde.contract.trouble import raised
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.numbers import finding as judging
from autograde.verdicts.numbers import on_all, single_precision
from course.models.midpoints import recorded

from .shares import finding as sharing
from .shares import other_points, unfair_points

finding = Findings("""
not-an-array 3
{seen}. It takes a float64 ndarray, of any shape.

f-not-called 3
The function never calls its argument f. The check passes other functions than the curve of this lab.
""")


class PartialSum(RankCheck, JudgedRun):
    """Every midpoint once over all shares, fair shares, and the right value of each."""

    todo, points, deadline = "partial_sum", 3, 20
    consolidation = (
        "Blocks or strides: both are right, as each midpoint goes to exactly one rank. Strides balance work that "
        "grows with the index, and blocks keep neighbours together."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Splits that divide evenly and others; more ranks than intervals; sizes beyond this world's."""
        splits = [[rng.randint(5, 30), 1], [2 * rng.randint(5, 20) + 1, 2], [3 * rng.randint(4, 12) + 2, 3], [3, 4]]
        splits += [[4 * rng.randint(3, 9) + 2, 4], [4 * rng.randint(3, 9), 4], [7 * rng.randint(2, 5) + 4, 7]]
        return [{"splits": splits, "coefficients": [round(rng.uniform(0.5, 2), 3) for _ in range(3)]}]

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """The student's `partial_sum` for every rank of every split, all on one rank: it needs no other."""
        partial_sum, shares = subject.load(), []
        a, b, c = case["coefficients"]
        for intervals, size in case["splits"]:
            for number in range(size):
                share = {"used": False, "points": [], "refused": None, "error": None, "result": None}
                try:
                    value = partial_sum(recorded(lambda x: a + x * (b + x * c), share), intervals, number, size)
                    share["result"] = described(value)
                except NotImplementedError:
                    raise
                except Exception as error:
                    share["error"] = describe(error, subject.filename)
                shares.append(share)
        return shares

    def shape(self, case: dict) -> dict:
        """A record of each share of each split, with a result or an error."""
        text, result = optional(string()), optional(described_value())
        share = record(used=boolean(), points=numbers(), refused=text, error=text, result=result)
        return array(one_of(share, "result", "error"), sum(size for _, size in case["splits"]))

    def judge(self, case: dict, results: list[Any]) -> list[Finding | Diagnosis]:
        """Look at each split by itself, once it is clear that `f` is used as it should be."""
        given = iter(results[0])
        splits = [(intervals, [next(given) for _ in range(size)]) for intervals, size in case["splits"]]
        shares = [(share, intervals < len(own)) for intervals, own in splits for share in own]
        if refused := next((share["refused"] for share, _ in shares if share["refused"] and share["error"]), None):
            seen = f"f was given a value of type {refused}"
            return [single_precision(seen) if "float32" in refused else finding("not-an-array", seen=seen)]
        if errors := [share["error"] for share, few in shares if share["error"] and not few]:
            return [raised(errors[0], self.points)]
        if errors := [share["error"] for share, _ in shares if share["error"]]:
            return [judging("empty-rank", who="it", does=f"raises {errors[0]}")]
        if not any(share["used"] for share, _ in shares):
            return [finding("f-not-called")]
        return [found for intervals, own in splits for found in self.split(case, intervals, own)]

    def split(self, case: dict, intervals: int, shares: list[dict]) -> list[Finding | Diagnosis]:
        """What is wrong with one split: first the points, then the values where the points are midpoints."""
        points = [share["points"] for share in shares]
        if found := other_points(intervals, points):
            return found
        a, b, c = case["coefficients"]
        sums = [math.fsum(a + x * (b + x * c) for x in of_rank) for of_rank in points]
        means = [total / (len(own) or 1) for total, own in zip(sums, points, strict=True)]
        empty = [number for number, own in enumerate(points) if not own]
        results, expected = [share["result"] for share in shares], [total / intervals for total in sums]
        if shares_of_the_whole(points, results, expected):
            return unfair_points(intervals, points)
        return unfair_points(intervals, points) + on_all(
            results, expected, {"local-h": means}, sharing, empty=empty, subject="value"
        )


def shares_of_the_whole(points: list[list[float]], results: list[dict], expected: list[float]) -> bool:
    """Whether each rank evaluates all points, and yet returns its share: together they are the sum over all.

    expected: what each rank's points add up to.
    """
    together = math.fsum(result["value"] or 0.0 for result in results)
    return len({*map(tuple, map(sorted, points))}) == 1 < len(points) and agree(together, expected[0])


CHECK = PartialSum()
