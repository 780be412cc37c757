"""The check of `load_checkpoint`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, number
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_calls import loading_calls
from autograde.probes.checkpoint_files import state_of
from autograde.verdicts.checkpoints import short
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.loading import finding as of_loading
from autograde.verdicts.loading import loaded, misfit_mistakes, no_file_mistakes

from .common import generator_after
from .loaded import loading_mistakes, moved_without_a_file

ENTRIES = ("model", "optimizer", "epoch", "consumed", "random")


class LoadCheckpoint(RankCheck, JudgedRun):
    """The file's state on all ranks, its place, and each rank's random numbers; an error for what does not fit.

    A case has `files`: [kind, see `write_checkpoint`; how many ranks wrote it; whether there are states of their GPUs].
    The last one has weights that were on a GPU, and so it says; what else is wrong is seen by the others. `seed`,
    `optimizer` and `place` are those of what the files hold; `fresh` is the seed of the models that are given. `saved`,
    `own`: random numbers of the files' ranks, and of these ranks before the call; see `generator_after`.
    """

    todo, points, needs, deadline = "load_checkpoint", 3, "torch", 10
    consolidation = (
        "All that a training depends on goes back by rank number, whoever has the number now, and the random numbers "
        "last. A file that does not fit is an error that names it: never a quiet new beginning."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Each kind of file, in any order; files of as many, fewer and more ranks; both optimizers."""

        def case(ranks: list[int], optimizer: str, files: list[list]) -> dict:
            seed, place = rng.randrange(2**30), [rng.randint(1, 20), rng.randint(30, 300)]
            about = {"ranks": ranks, "optimizer": optimizer, "seed": seed, "fresh": 2**30 + seed}
            about["files"] = [*files, ["good", len(ranks), False]]
            luck = [[[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 30), 5)] for _ in "ab"]
            return {**about, "place": place, "saved": luck[0], "own": luck[1]}

        def some(kinds: list[str]) -> list[list]:
            return [[kind, 3, False] for kind in rng.sample(kinds, len(kinds))]

        misfits = ["missing", "unexpected", "half", "without-random"]
        others = ["renamed", *(f"without-{name}" for name in ENTRIES if name != "random")]
        good = [["good", by, gpus] for by, gpus in ((3, False), (2, False), (3, True))]
        cases = [case([2, 0, 3], "momentum", [["none", 3, False], *good, *some(misfits)])]
        good = [["good", by, False] for by in (2, 5)]
        cases += [case([3, 1], "adam", [*good, *some(others), ["none", 2, False]])]
        ### BEGIN HIDDEN CASES
        again, good = rng.sample(misfits + others, 3), [["good", by, gpus] for by, gpus in ((4, False), (5, True))]
        kind = rng.choice(["momentum", "adam"])
        cases += [case([1, 2, 0, 3], kind, [*good, *some(again), ["good", 1, False], ["none", 1, False]])]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """A call for each file, into a model of its own."""
        own = generator_after(case["own"][rank.rank]).get_state()
        entries = dict(zip(("epoch", "consumed"), case["place"], strict=True))
        states = [states_of(case["saved"][:by], gpus) for _, by, gpus in case["files"]]
        files = [(file[0], {**entries, "random": each}) for file, each in zip(case["files"], states, strict=True)]
        load, calls, of_gpu = subject.load(), [], os.path.join(rank.folder, "of-a-gpu")
        os.makedirs(of_gpu, exist_ok=True)
        for folder, some in ((rank.folder, files[:-1]), (of_gpu, files[-1:])):
            about = {**case, "from_gpu": folder == of_gpu}
            calls += loading_calls(
                *(replace(rank, folder=folder), subject.filename, load, about, some),
                before=lambda: torch.set_rng_state(own),
                after=lambda: {"drawn": torch.rand(1, dtype=torch.float64).item()},
            )
        return calls

    def shape(self, case: dict) -> dict:
        """For each file, what was returned or raised, and the state after that."""
        return array(loaded(drawn=number()), len(case["files"]))

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each file by itself; those of ranks with GPUs where others are not refused, too."""
        calls_of, files, size = [*zip(*results, strict=True)], case["files"], len(results)
        last = len(files) - 1
        plain = [place for place, (kind, by, gpus) in enumerate(files) if kind == "good" and by >= size and not gpus]
        errors = {place: [call["error"] for call in calls if call["error"]] for place, calls in enumerate(calls_of)}
        refusing = any(errors[place] for place in plain if place != last)
        for place, calls in enumerate(calls_of):
            if place == last and errors[place] and not refusing:
                yield of_loading("no-map-location", error=short(errors[place][0]))
            elif not (refusing and (place == last or files[place][2])):
                yield from file_mistakes(case, place, calls)


def file_mistakes(case: dict, place: int, calls: Sequence[dict]) -> Iterator[Finding | Diagnosis]:
    """What is wrong with the calls of all ranks for file number `place`."""
    kind, writers, gpus = case["files"][place]
    if kind == "none":
        before = state_of(*after_steps(case["fresh"] + place, case["optimizer"], steps=0))
        yield from no_file_mistakes(calls, before, [0, 0])
        yield from moved_without_a_file(calls, case["own"])
    elif kind == "good":
        expected = state_of(*after_steps(case["seed"], case["optimizer"]))
        yield from loading_mistakes(calls, expected, case["place"], case["saved"][:writers], case["own"], gpus)
    else:
        yield from misfit_mistakes(kind, f"{place}.pt", calls)


def states_of(saved: Sequence, gpus: bool) -> list[list[torch.Tensor]]:
    """The entry "random" of a file. saved: luck of its ranks. gpus: whether these had one each."""
    states = [[generator_after(luck).get_state()] for luck in saved]
    return [[*own, gpu_state(rank)] for rank, own in enumerate(states)] if gpus else states


def gpu_state(seed: int) -> torch.Tensor:
    """The state of a GPU's generator, as `torch.cuda.get_rng_state` gives it: seed and offset, 8 bytes each."""
    return torch.tensor([seed, 0]).view(torch.uint8)


CHECK = LoadCheckpoint()
