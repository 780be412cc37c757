"""The check of `distributed_accuracy`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.weighed_part import WEIGHED, was_weighed, weighed_calls
from autograde.verdicts.collectives import only, unequal_sizes
from autograde.verdicts.diagnosis import ROUNDING, agree
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.means import mean_on_all

from .counted_once import accuracy, counted_wrongly, draw_call, held_by_ranks

finding = Findings("""
filled-up-counted 3
There are {n} samples, and the ranks hold {counts}: the result is {actual:.6g}, where {expected:.6g} is expected. It is
what comes out if what shorter ranks were filled up with speaks for sample 0. What tells it from what is really there?

cut-by-position 2
There are {n} samples, and the ranks hold {counts}: the result is {actual:.6g}. That is what the first {n} entries give,
in the order in which the ranks hold them. But a copy may stand at any place. What tells a copy from another sample?
""")


class DistributedAccuracy(CallCheck, JudgedCalls):
    """Each sample counted once by its index, and the same number on every rank."""

    todo, points, needs = "distributed_accuracy", 4, "torch"
    consolidation = (
        "Counted by index, the result depends neither on the number of ranks nor on who holds a copy. That all ranks "
        "agree proves nothing: they agree on wrong numbers just as well."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Shards with copies, on several ranks and on one; of unequal sizes, some empty; one sample; other ranks, in
        other orders; a rank's part that weighs more."""

        def case(ranks: list[int], *calls: tuple[int, list[int]]) -> dict:
            drawn = []
            for samples, held in calls:
                held = rng.sample(held, len(held))
                drawn.append(draw_call(rng, samples, held))
            return {"ranks": ranks, "calls": drawn}

        n, m = rng.randint(3, 8), rng.randint(3, 6)
        cases = [case([0, 1, 2, 3], (4 * n - 2, [n] * 4), (4 * m + 1, [m + 1] * 4))]
        cases += [case(rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]]), (m + 11, [m, 3, 8]), (n + 9, [0, n, 9]))]
        cases += [case([0, 1, 2, 3], (n + 10, [0, n + 3, 9, 2]), (1, [1] * 4), (2, [1, 1, 0, 0]))]
        cases += [case([1], (m + 9, [m + 12]), (m + 9, [m + 9]))]
        cases += [{**case([0, 1, 2, 3], (n + 10, [3, n + 2, 4, 1])), WEIGHED: True}]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """Two ranks with unequally many samples."""
        return {"ranks": [0, 1], "calls": [draw_call(rng, 4, [2, 3])]}

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The calls, or those in which a rank's part weighs more."""
        return weighed_calls(self, world, subject, case)

    @staticmethod
    def call(distributed_accuracy: Callable, rank: Rank, call: dict) -> dict:
        """The student's function on what this rank holds."""
        correct = rank.argument("correct", rank.tensor(call["correct"][rank.rank], bool))
        indices = rank.argument("indices", rank.tensor(call["indices"][rank.rank], int))
        return {"value": described(distributed_accuracy(correct, indices, call["dataset_size"]))}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Those that hold no samples."""
        return [rank for rank, own in enumerate(plan["indices"]) if not own]

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """What was communicated, and the numbers that came of it."""
        results, expected, found = call.of("value"), accuracy(call.plan), only("torch", call.events)
        if any(each.key == "not-waited-for" for each in found):
            return found
        right = all(agree(result["value"], expected) for result in results)
        if not right and (unequal := unequal_sizes(call.events)):
            return found + unequal
        how = {"tolerance": ROUNDING, "logs": call.events, "weighed": was_weighed(case, call.noted)}
        how["empty"] = self.empty(case, call.plan)
        also, n = counted_wrongly(call.plan), call.plan["dataset_size"]
        return found + mean_on_all(results, held_by_ranks(call.plan), "samples", expected, n, also, finding, **how)


CHECK = DistributedAccuracy()
