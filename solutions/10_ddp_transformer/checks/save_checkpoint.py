"""The check of `save_checkpoint`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_calls import saving_calls
from autograde.probes.checkpoint_files import state_of
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.saving import saved, saving_mistakes, unfinished_saving


class SaveCheckpoint(RankCheck, JudgedRun):
    """Rank 0 writes; nothing but a whole file is ever in its place; the content is right; all return afterwards."""

    todo, points, needs, deadline = "save_checkpoint", 3, "torch", 10
    consolidation = (
        "A file that is written beside the old one, and then takes its place in one step, is whole at every moment. "
        "One rank writes, and the others wait for it."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two nodes, with an old file; one node, without; both optimizers."""

        def case(ranks: list[int], local: list[int], old: bool, optimizer: str) -> dict:
            first, seed = rng.randint(2, 20), rng.randrange(2**31)
            about = {"ranks": ranks, "local": local, "optimizer": optimizer, "seed": seed}
            return {**about, "old": first - 1 if old else None, "epochs": [first, first + 1]}

        cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 2], [0, 1], True, "adam")]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """Two calls, the second one after a crash in the middle of writing, in a folder of their own."""
        old = None if case["old"] is None else {"model": {}, "optimizer": {}, "epoch": case["old"]}
        return saving_calls(rank, subject.load(), case, [[epoch] for epoch in case["epochs"]], old)

    def shape(self, case: dict) -> dict:
        """For each call, what was touched, how the folder looked meanwhile, and what is in the file."""
        return array(saved(), len(case["epochs"]))

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """Rank 0 makes other calls than the rest, or the file was to be moved too far."""
        return unfinished_saving(run)

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each call by itself."""
        for number, calls in enumerate(zip(*results, strict=True)):
            expected = state_of(*after_steps(case["seed"] + number, case["optimizer"]))
            yield from saving_mistakes(number, calls, case["local"], {**expected, "epoch": case["epochs"][number]})


CHECK = SaveCheckpoint()
