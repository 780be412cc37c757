"""The check of `setup`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank
from autograde.contract.schema import array, boolean, record
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.simulated_node import described_device, simulated_node
from autograde.verdicts.devices import chosen_schema, device_mistakes
from course.world.report import name_ranks

from . import RANKS
from .common import HorovodCheck

finding = Findings("""
not-initialised 2
After `setup`, Horovod is not initialised on {who}.
""")


class Setup(HorovodCheck):
    """Devices on nodes that are simulated, with GPUs that are simulated too. Horovod is not initialised beforehand."""

    todo, points, needs, deadline = "setup", 2, None, 10
    consolidation = (
        "The rank counts through all nodes, and GPUs are numbered anew on each, so the local rank chooses the GPU. "
        "Made the current device, it is also where a plain `cuda` leads."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Nodes whose ranks are not in order, or with one rank; more GPUs than ranks, as many, fewer, none."""
        order = rng.choice([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
        nodes = [(order, 2, 2), ([0, 1, 2, 3], 4, 0), ([0, 1, 2, 3], 4, rng.choice((1, 2, 3)))]
        nodes += [([1, 0, 1, 0], 2, 3), ([0, 0, 0, 0], 1, 1)]
        ### BEGIN HIDDEN CASES
        nodes += [([0, 1, 2, 3], 4, 8), (order[::-1], 2, 1)]
        ### END HIDDEN CASES
        names = ("local_ranks", "local_size", "gpus")
        return [{"size": RANKS, "nodes": [dict(zip(names, node, strict=True)) for node in nodes]}]

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """The student's `setup`, twice on each kind of node."""
        import horovod.torch as hvd

        seen = []
        for node in case["nodes"]:
            with simulated_node(node["local_ranks"][rank.rank], node["local_size"], node["gpus"]) as noted:
                setup = subject.load()
                setup()
                device = described_device(setup())
                initialised = hvd.is_initialized() and [hvd.rank(), hvd.size()] == [rank.rank, rank.size]
            seen.append({**device, "initialised": initialised, "current": noted["current"]})
        return seen

    def shape(self, case: dict) -> dict:
        """The device and more on each kind of node."""
        return array(record(initialised=boolean(), **chosen_schema()), len(case["nodes"]))

    def judge(self, case: dict, results: list[list[dict]]) -> Iterable[Finding | Diagnosis]:
        """The ranks' devices on each kind of node."""
        if missing := [rank for rank, own in enumerate(results) if not all(each["initialised"] for each in own)]:
            yield finding("not-initialised", who=name_ranks(missing))
        for node, chosen in zip(case["nodes"], zip(*results, strict=True), strict=True):
            local = [(number, node["local_size"]) for number in node["local_ranks"]]
            yield from device_mistakes(local, node["gpus"], chosen)


CHECK = Setup()
