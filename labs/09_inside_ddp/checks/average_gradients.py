"""The check of `average_gradients`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from autograde.contract.rank_check import Rank

from .judged_steps import StepsCheck
from .training_steps import draw_plan, net_of, on_network, train


class AverageGradients(StepsCheck):
    """Steps on 2 to 4 ranks whose graphs differ, on networks that are late and quick, beside one process."""

    todo, points, deadline = "average_gradients", 3, 12.0
    consolidation = (
        "A rank that has nothing to bring still has to come: a collective that one rank leaves out meets the next one "
        "of the others, or none at all."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Graphs that differ, something in `.grad` beforehand, and a rank without any gradient; then other sizes."""

        def call(network: str, **more: Any) -> dict:
            return draw_plan(rng, network, more.pop("steps", [0, 0]), **more)

        cases = [
            {"size": 4, "calls": [call("late", crooked=True)]},
            {"size": 3, "calls": [call("quick", left=True), call("late", crooked=True)]},
            {"size": 2, "calls": [call("quick", steps=[0], idle=rng.randrange(2))]},
        ]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A step on two ranks."""
        return {"size": 2, "calls": [draw_plan(rng, "plain", [0], crooked=True)]}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The steps, with the student's averaging in each."""
        net = net_of(call, rank.rank, rank.torch_device)
        with on_network(call):
            return {"steps": train(net, call, rank.comm, lambda: function(net))}


CHECK = AverageGradients()
