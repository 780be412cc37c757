"""The check of `Reducer`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autograde.contract.rank_check import Rank
from autograde.contract.trouble import raised
from autograde.contract.verdict import Finding
from autograde.verdicts.judged import Run

from .crooked_net import TRAINED
from .judged_steps import StepsCheck, gradient_bytes, passed_when_ready
from .step_traffic import Ready, StepLog
from .training_steps import another_net, batch_seed, draw_plan, net_of, on_network, train

# Indices of trained parameters, from the last to the first; sums of bytes by bucket all differ.
BUCKETS = ([[6, 5], [4], [3, 2], [1], [0]], [[6], [5, 4, 3], [2], [1, 0]], [[6, 5, 4], [3], [2, 1, 0]])

TRAINED_ONLY = "The numbers in `buckets` count trained parameters only; a module may have others, too."


class Reducer(StepsCheck):
    """Steps on 2 to 4 ranks whose graphs differ, in buckets, with passes in `no_sync`, beside one process."""

    todo, points, deadline = "Reducer", 6, 15.0
    ordered = True
    consolidation = (
        "Buckets leave in one order on all ranks, whatever order their gradients come in: that is what lets ranks with "
        "different graphs meet. The rest of DistributedDataParallel is bookkeeping: what is complete, gone, to be sent."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Graphs that are the same and that differ; passes in `no_sync`, and an error there; another reducer at work
        beside; then other buckets.

        Ranks whose orders differ may be lost with the run, so what graphs that are the same show comes first.
        """

        def call(network: str, number: int, steps: list[int], **more: Any) -> dict:
            return draw_plan(rng, network, steps, buckets=BUCKETS[number], **more)

        cases = [
            {"size": 2, "calls": [call("quick", 1, [0, 2, 1, 0], broken=2)]},
            {"size": 4, "calls": [call("late", 0, [0, 0, 0], crooked=True)]},
            {"size": 2, "calls": [call("late", 0, [1, 0], crooked=True, beside=True)]},
            {"size": 3, "calls": [call("late", 2, [0, 0], left=True, crooked=True)]},
        ]
        ### BEGIN HIDDEN CASES
        cases += [
            {"size": 3, "calls": [call("quick", 1, [0, 0], crooked=True)]},
            {"size": 4, "calls": [call("late", 2, [1, 0, 2, 0], broken=0, crooked=True)]},
            {"size": 2, "calls": [call("late", 0, [0, 0], left=True, beside=True)]},
        ]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A step on two ranks."""
        return {"size": 2, "calls": [draw_plan(rng, "plain", [0], crooked=True, buckets=BUCKETS[0])]}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The steps, by a reducer of the student's."""
        net = net_of(call, rank.rank, rank.torch_device)
        with on_network(call):
            other = another_net(call, rank)
            reducer, beside = (function(each, [[*bucket] for bucket in call["buckets"]]) for each in (net, other))
            rank.notes["another"] = beside
            if call["beside"]:
                other.loss(batch_seed(call, 0, 0, rank.rank)).backward()
            steps = train(net, call, rank.comm, reducer.finish, reducer.no_sync)
            if call["beside"]:
                beside.finish()
            return {"steps": steps}

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """Calls that did not meet; an error where a parameter is looked up."""
        found, types = [*super().unfinished(case, run)], {(rank["error"] or {}).get("type") for rank in run.ranks}
        if found or run.state != "raised" or not types & {"KeyError", "IndexError"}:
            return found
        told = raised(run.detail, self.points, run.report)
        return [replace(told, message=f"{told.message} {TRAINED_ONLY}")]

    def sizes(self, plan: dict) -> list[int]:
        """Bytes of the buckets."""
        sizes = [*gradient_bytes().values()]
        return [sum(sizes[place] for place in bucket) for bucket in plan["buckets"]]

    def ready(self, plan: dict) -> Ready:
        """A bucket leaves when the backward pass is through the layers that complete it and those before."""

        def ready(rank: int, step: StepLog) -> list[list[int]]:
            moments: list[list[int]] = []
            for number in range(len(plan["buckets"])):
                places = [place for bucket in plan["buckets"][: number + 1] for place in bucket]
                moments.append(passed_when_ready(plan, rank, [TRAINED[place] for place in places]))
            return moments

        return ready


CHECK = Reducer()
