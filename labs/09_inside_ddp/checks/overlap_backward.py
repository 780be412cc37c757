"""The check of `overlap_backward`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank
from autograde.contract.schema import string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.judged import Call

from .judged_steps import StepsCheck, gradient_bytes, passed_when_ready
from .step_traffic import Ready, StepLog
from .training_steps import another_net, draw_plan, net_of, on_network, train

finding = Findings("""
no-function 3
`overlap_backward` returns {kind}. Expected is a function, which is called after each backward pass.
""")


class OverlapBackward(StepsCheck):
    """Steps on 2 to 4 ranks, on networks that are late and quick, beside one process; and when each gradient left."""

    todo, points, deadline = "overlap_backward", 3, 12.0
    consolidation = (
        "What is sent while there is still something to compute costs no time. A handle is the promise that the sum "
        "will come: until you have waited for it, the tensor belongs to the network."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Three steps each, on both networks; something in `.grad` beforehand; then other sizes."""

        def call(network: str, **more: Any) -> dict:
            return draw_plan(rng, network, [0, 0, 0], **more)

        cases = [
            {"size": 4, "calls": [call("late")]},
            {"size": 2, "calls": [call("quick", left=True), call("late")]},
        ]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A step on two ranks."""
        return {"size": 2, "calls": [draw_plan(rng, "plain", [0])]}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The steps, with what the student's function gives after each backward pass."""
        net = net_of(call, rank.rank, rank.torch_device)
        with on_network(call):
            finish = function(net)
            rank.notes["another"] = function(another_net(call, rank))
            if not callable(finish):
                return {"steps": [], "kind": type_in_words(finish)}
            return {"steps": train(net, call, rank.comm, finish), "kind": ""}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The gradients of each step, or what was returned in the place of a function."""
        steps = super().shape(case, call)["steps"]
        return {"steps": steps | {"minItems": 0}, "kind": string()}

    def ready(self, plan: dict) -> Ready:
        """A gradient leaves when the backward pass is through the layer that completes it."""
        names = {count: name for name, count in gradient_bytes().items()}

        def ready(rank: int, step: StepLog) -> list[list[int]]:
            sent = [names.get(event["bytes"]) for event in step.reduces]
            return [passed_when_ready(plan, rank, [name]) for name in sent if name]

        return ready

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """What came back; then the steps."""
        if kinds := [each["kind"] for each in call.shown if len(each["steps"]) != len(call.plan["steps"])]:
            return [finding("no-function", kind=kinds[0] or "nothing")]
        return [*super().judge(case, call)]


CHECK = OverlapBackward()
