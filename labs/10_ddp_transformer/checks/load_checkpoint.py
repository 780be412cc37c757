"""The check of `load_checkpoint`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.stepped import after_steps, group_device
from autograde.probes.checkpoint_calls import loading_calls
from autograde.probes.checkpoint_files import state_of
from autograde.verdicts.checkpoints import same, short
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.loading import loaded, misfit_mistakes, no_file_mistakes, refused, state_mistakes

finding = Findings("""
repeats-an-epoch 1
From a file with epoch {epoch} the function returns {value}. That epoch is finished; it would be trained twice.

wrong-next-epoch 1
From a file with epoch {epoch} the function returns {value}.
""")


class LoadCheckpoint(RankCheck, JudgedRun):
    """The file's state on all ranks and the epoch to go on with; 0 without a file; an error for what does not fit.

    A case has `files`, their kinds, see `write_checkpoint`; `from_gpu`, whether a GPU wrote them; `seed`,
    `optimizer` and `epoch` of what they hold; `fresh`, seed of the models that are given.
    """

    todo, points, needs, deadline = "load_checkpoint", 3, "torch", 10
    consolidation = (
        "A training that finds out by itself where it stands is started again by the same command. An error that "
        "names the file is better than a training that quietly begins anew."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Each kind of file, in any order, written on a GPU or not; both optimizers."""

        def case(ranks: list[int], optimizer: str, files: list[str], from_gpu: bool) -> dict:
            seed, epoch = rng.randrange(2**30), rng.randint(1, 20)
            about = {"ranks": ranks, "optimizer": optimizer, "files": files, "from_gpu": from_gpu}
            return {**about, "seed": seed, "fresh": 2**30 + seed, "epoch": epoch}

        misfits = ["missing", "unexpected", "half", f"without-{rng.choice(['optimizer', 'epoch'])}"]
        others = ["renamed", "without-model", "without-optimizer", "without-epoch"]
        cases = [case([2, 0, 3], "momentum", ["none", "good", *rng.sample(misfits, len(misfits))], True)]
        cases += [case([3, 1], "adam", ["good", *rng.sample(others, len(others)), "none"], False)]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """A call for each file, into a model of its own."""
        load, device = subject.load(), group_device()
        files = [(kind, {"epoch": case["epoch"]}) for kind in case["files"]]
        return loading_calls(rank, subject.filename, lambda *given: load(*given, device), case, files)

    def shape(self, case: dict) -> dict:
        """For each file, what was returned or raised, and the state after that."""
        return array(loaded(), len(case["files"]))

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each file by itself."""
        for number, calls in enumerate(zip(*results, strict=True)):
            kind = case["files"][number]
            if kind == "none":
                before = state_of(*after_steps(case["fresh"] + number, case["optimizer"], steps=0))
                yield from no_file_mistakes(calls, before, 0)
            elif kind == "good":
                expected = state_of(*after_steps(case["seed"], case["optimizer"]))
                yield from refused(calls) or good_file_mistakes(calls, expected, case["epoch"])
            else:
                yield from misfit_mistakes(kind, f"{number}.pt", calls)


def good_file_mistakes(calls: Sequence[dict], expected: dict, epoch: int) -> Iterator[Finding | Diagnosis]:
    """What is wrong where no rank refused a good file. expected, epoch: model and optimizer, and the epoch in it."""
    yield from state_mistakes(calls, expected)
    for call in calls:
        about = partial(finding, epoch=epoch, value=short(call["value"]))
        candidates = {"repeats-an-epoch": epoch}
        yield diagnose("epoch", call["value"], epoch + 1, candidates, about, "wrong-next-epoch", same)


CHECK = LoadCheckpoint()
