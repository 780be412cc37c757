"""The check of `load_checkpoint`."""

from __future__ import annotations

import operator
import os
import random
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.calls import meet
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, optional, record, string
from autograde.contract.subject import describe
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.checkpoint_files import as_plain, write_as_a_gpu
from autograde.probes.file_watch import half_a_file
from autograde.verdicts.checkpoints import same, short
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun
from course.world.report import name_ranks

from .common import after_steps, group_device, state_of

finding = Findings("""
no-file-is-an-error 1
Without a file the function raises {error}. Every training begins without one.

starts-elsewhere 1
Without a file the function returns {value}. With which epoch does a training begin?

changed-without-a-file 1
There is no file, and yet the call changes the model or the optimizer.

good-file-refused 3
The function refuses a file such as `save_checkpoint` writes: {error}

no-map-location 1
A file that a rank with a GPU wrote cannot be loaded on the CPU: {error}

repeats-an-epoch 1
From a file with epoch {epoch} the function returns {value}. That epoch is finished; it would be trained twice.

wrong-next-epoch 1
From a file with epoch {epoch} the function returns {value}.

weights-not-loaded 2
After the call, {who} does not have the file's model: {name!r} differs.

rank-0-only 2
After the call only rank 0 has the file's model, and {who} does not. DistributedDataParallel sends rank 0's weights to
the others when it wraps a model, not later.

optimizer-not-loaded 1.5
After the call, the optimizer on {who} does not have the file's state. Its momentum is part of the training.

strict-false 1.5
The function accepts the file of another model, {how}. Weights that the file lacks keep their random values, and nobody
notices.

broken-file-ignored 1.5
The function accepts half a file, and returns {value}. Training would start from the beginning and overwrite the
file.

missing-entry-ignored 1
The function accepts a file without the entry {name!r}, and returns {value}.

some-ranks-refuse 1
For a file that does not fit, {who} returned as if all was well, while the others raised an error.

error-names-no-file 0.5
The error for a file that does not fit does not say which file it is: {error}
""")

LOADED = record(value={}, error=optional(string()), model={"type": "object"}, optimizer={"type": "object"})
OTHER_MODELS = {
    "missing": "in which some weights of this one are missing",
    "unexpected": "which has more weights than this one",
    "renamed": "with other names",
}


class LoadCheckpoint(RankCheck, JudgedRun):
    """The file's state on all ranks and the epoch to go on with; 0 without a file; an error for what does not fit.

    A case has `files`, their kinds: "none", "good", "half", one of OTHER_MODELS, or "without-" and the name of an
    entry; `seed`, `optimizer` and `epoch` of what they hold; `fresh`, seed of the models that are given.
    """

    todo, points, needs, deadline = "load_checkpoint", 3, "torch", 10
    consolidation = (
        "A training that finds out by itself where it stands is started again by the same command. An error that "
        "names the file is better than a training that quietly begins anew."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Each kind of file, in any order; both optimizers."""

        def case(ranks: list[int], optimizer: str, files: list[str]) -> dict:
            seed, epoch = rng.randrange(2**30), rng.randint(1, 20)
            about = {"ranks": ranks, "optimizer": optimizer, "files": files}
            return {**about, "seed": seed, "fresh": 2**30 + seed, "epoch": epoch}

        misfits = ["missing", "unexpected", "half", f"without-{rng.choice(['optimizer', 'epoch'])}"]
        others = ["renamed", "without-model", "without-optimizer", "without-epoch"]
        cases = [case([2, 0, 3], "momentum", ["none", "good", *rng.sample(misfits, len(misfits))])]
        cases += [case([3, 1], "adam", ["good", *rng.sample(others, len(others)), "none"])]
        ### BEGIN HIDDEN CASES
        again = rng.sample(misfits + others, 3)
        cases += [case([1, 2, 0], rng.choice(["momentum", "adam"]), ["good", *again, "none"])]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """A call for each file, into a model of its own."""
        load, calls = subject.load(), []
        for number, kind in enumerate(case["files"]):
            path = os.path.join(rank.folder, f"{number}.pt")
            if rank.rank == 0:
                write_file(path, case, kind)
            model, optimizer = after_steps(case["fresh"] + number, case["optimizer"], steps=0)
            model = DistributedDataParallel(model)
            meet(rank.comm)
            value = error = None
            try:
                value = load(path, model, optimizer, group_device())
            except NotImplementedError:
                raise
            except Exception as raised:
                error = describe(raised, subject.filename).replace(f"{rank.folder}{os.sep}", "")
            calls.append({"value": as_plain(value), "error": error, **state_of(model.module, optimizer)})
            meet(rank.comm)
        return calls

    def shape(self, case: dict) -> dict:
        """For each file, what was returned or raised, and the state after that."""
        return array(LOADED, len(case["files"]))

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each file by itself."""
        for number, calls in enumerate(zip(*results, strict=True)):
            kind = case["files"][number]
            if kind == "none":
                before = state_of(*after_steps(case["fresh"] + number, case["optimizer"], steps=0))
                yield from no_file_mistakes(calls, before)
            elif kind == "good":
                yield from loading_mistakes(
                    calls, state_of(*after_steps(case["seed"], case["optimizer"])), case["epoch"]
                )
            else:
                yield from misfit_mistakes(kind, f"{number}.pt", calls)


def write_file(path: str, case: dict, kind: str) -> None:
    """A checkpoint of one kind, see `LoadCheckpoint`."""
    model, optimizer = after_steps(case["seed"], case["optimizer"])
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": case["epoch"]}
    if kind == "missing":
        del state["model"]["submodule.weight"]
    elif kind == "unexpected":
        state["model"]["another.weight"] = torch.ones(2)
    elif kind == "renamed":
        state["model"] = {f"encoder.{name}": value for name, value in state["model"].items()}
    elif kind.startswith("without-"):
        del state[kind.removeprefix("without-")]
    if kind == "half":
        half_a_file(Path(path))
    elif kind != "none":
        write_as_a_gpu(state, path)


def no_file_mistakes(calls: Sequence[dict], before: dict) -> Iterator[Finding]:
    """What is wrong where there was no file. calls: of each rank, as LOADED. before: state of model and optimizer."""
    for call in calls:
        if call["error"] is not None:
            yield finding("no-file-is-an-error", error=short(call["error"]))
        elif not same(call["value"], 0):
            yield finding("starts-elsewhere", value=short(call["value"]))
        elif not all(same(call[name], before[name]) for name in before):
            yield finding("changed-without-a-file")


def loading_mistakes(calls: Sequence[dict], expected: dict, epoch: int) -> Iterator[Finding | Diagnosis]:
    """What is wrong where a good file was there. expected, epoch: the model, the optimizer and the epoch in it."""
    for call in calls:
        if (error := call["error"]) is not None:
            on_gpu = re.search("map_location|CUDA|cuda", error)
            yield finding("no-map-location" if on_gpu else "good-file-refused", error=short(error))
            return
    others = [*range(1, len(calls))]
    without, old = (
        [rank for rank, call in enumerate(calls) if not same(call[part], expected[part])]
        for part in ("model", "optimizer")
    )
    model = calls[without[0]]["model"] if without else {}
    differ = [name for name, values in expected["model"].items() if not same(model.get(name), values)]
    who = name_ranks(without) if without else ""
    about = partial(finding, who=who, name=(differ or ["a name"])[0])
    yield diagnose("model", without, [], {"rank-0-only": others}, about, "weights-not-loaded", operator.eq)
    if old and not (old == without == others):
        yield finding("optimizer-not-loaded", who=name_ranks(old))
    for call in calls:
        about = partial(finding, epoch=epoch, value=short(call["value"]))
        candidates = {"repeats-an-epoch": epoch}
        yield diagnose("epoch", call["value"], epoch + 1, candidates, about, "wrong-next-epoch", same)


def misfit_mistakes(kind: str, name: str, calls: Sequence[dict]) -> Iterator[Finding]:
    """What is wrong where the file `name`, of this kind, does not fit. calls: of each rank."""
    silent = [rank for rank, call in enumerate(calls) if call["error"] is None]
    if not silent:
        if unnamed := [call["error"] for call in calls if name not in call["error"]]:
            yield finding("error-names-no-file", error=short(unnamed[0]))
    elif len(silent) < len(calls):
        yield finding("some-ranks-refuse", who=name_ranks(silent))
    elif kind in OTHER_MODELS:
        yield finding("strict-false", how=OTHER_MODELS[kind])
    elif kind == "half":
        yield finding("broken-file-ignored", value=short(calls[0]["value"]))
    else:
        yield finding("missing-entry-ignored", name=kind.removeprefix("without-"), value=short(calls[0]["value"]))


CHECK = LoadCheckpoint()
