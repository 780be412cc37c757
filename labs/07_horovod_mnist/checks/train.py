"""The check of `train`: whole runs, with right functions for the earlier TODOs, which record what they are given."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from autograde.contract.calls import described, meet
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck, run_on_rank
from autograde.contract.schema import (
    array,
    boolean,
    described_value,
    integer,
    number,
    optional,
    record,
    string,
    tuple_of,
)
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.probes.checkpoint_files import read_checkpoint, recorded_saves
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.probes.weighed_part import WEIGHED, was_weighed, weighed
from autograde.verdicts.checkpoints import FILE
from autograde.verdicts.replicas import close
from course.world import COMM
from course.world.report import name_ranks

from .averaging import is_average
from .common import MOMENTUM, STATE, HorovodCheck, seeds
from .stand_ins import TESTS, stand_ins
from .training import run_mistakes

KEYS = ("epoch", "loss", "accuracy", "seconds")

finding = Findings("""
no-history 4
On {who} the function does not return a list of {epochs} dicts.

wrong-keys 1
The dicts of the history have the keys {keys}; expected are {expected}.

history-epochs 0.5
The epochs in the history are {numbers}; they count from 0.

wrong-seconds 0.5
The seconds in the history are {seconds}, and the whole call took {elapsed:.3g}. Each epoch has a time of its own.
""")


class Train(HorovodCheck):
    """Three epochs: the history, the models at the end, and the checkpoints on the way."""

    todo, points = "train", 4
    consolidation = (
        "The loop is that of an ordinary training: what is special about many ranks is in the functions that it "
        "calls. All ranks do everything, except for writing the file."
    )
    prices: ClassVar = {
        "not-a-float": 0.5,
        "wrong-rank-writes": 1,
        "nothing-written": 1.5,
        "not-loadable": 1.5,
        "not-a-dict": 1.5,
        "model-missing": 1.5,
    }

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks on nodes of two, on nodes of their own, where a rank's part weighs more, and on one."""
        cases = [self.draw(rng, 4, 2), {**self.draw(rng, 2, 1), WEIGHED: True}]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """An epoch on two ranks."""
        return {**self.draw(rng, 2, 2), "epochs": 1}

    def draw(self, rng: random.Random, size: int, local_size: int) -> dict:
        """One case, in which each rank draws five samples an epoch, three and two."""
        samples = 5 * size - 1

        def order() -> list[list[int]]:
            ids = rng.sample(range(samples), samples)
            return [[*ids, *ids][rank : 5 * size : size] for rank in range(size)]

        case = {"size": size, "local_size": local_size, "samples": samples, "batch_size": 3, "tests": 2 * size + 1}
        case |= {"epochs": 3, "momentum": MOMENTUM, "lr": round(rng.uniform(0.02, 0.04), 4)}
        case |= {"models": rng.sample(range(2**31), size), "orders": [order() for _ in range(3)], "other": order()}
        return case | {"losses": [rng.uniform(0, 2) for _ in range(3)]} | seeds(rng, "data", "test_data", "seed")

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The run, or one in which a rank's part of a loss or an accuracy weighs more."""
        evidence = RankCheck.probe(self, world, subject, case)
        logs = [[event for event in rank["events"] if not is_average(event)] for rank in evidence["ranks"]]
        with TemporaryDirectory() as folder:
            again = (run_on_rank, type(self).run, subject, case, folder, COMM)
            return weighed(self, world, case, evidence, logs, *again)

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """The student's `train`."""
        comm, path = rank.comm, os.path.join(rank.folder, "model.pt")
        log: dict = {name: [] for name in ("forwards", "drawn", "loaders", "epochs", "saves")}
        log |= {"begin": None, "evaluated": False}

        def after() -> int:
            """How many batches, or epochs of the stand-in, the model was trained on by now."""
            return len(log["drawn"]) + sum(max(ids, default=0) < TESTS for ids, *_ in log["forwards"])

        def shown(net: NumberedNet, ids: list[int]) -> None:
            log["begin"] = log["begin"] or state_of(net)
            log["forwards"].append([ids, net.training, after()])

        model = NumberedNet(case["models"][comm.rank], follows=0.0, record=shown)
        sets = NumberedSet(case["samples"], case["data"]), NumberedSet(case["tests"], case["test_data"], first=TESTS)
        place = simulated_node(comm.rank % case["local_size"], case["local_size"])
        with seeded_apart(comm.rank), place, recorded_saves(log["saves"], after):
            train, began = subject.load(**stand_ins(case, comm, log, rank.torch_device)), time.perf_counter()
            history = train(model, *sets, case["epochs"], case["batch_size"], case["lr"], case["seed"], path)
            elapsed = time.perf_counter() - began
            meet(comm)
            file = read_checkpoint(path)
        return {**log, "history": plain_history(history), "elapsed": elapsed, "file": file, "state": state_of(model)}

    def shape(self, case: dict) -> dict:
        """What was called, drawn, written and returned."""
        entry = record(keys=array(string()), **dict.fromkeys(KEYS, described_value()))
        return record(
            begin=optional(STATE),
            state=STATE,
            forwards=array(tuple_of([array(integer()), boolean(), integer()])),
            drawn=array(array(array(integer()))),
            loaders=array(array(integer(), 3)),
            epochs=array(integer()),
            evaluated=boolean(),
            history=optional(array(entry)),
            elapsed=number(0),
            saves=array(record(after=integer(), content={})),
            file=FILE,
        )

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """The same, with what kind of run it was."""
        was = was_weighed(case, [rank["events"] for rank in evidence["ranks"]])
        return super().verdict({**case, WEIGHED: was}, evidence)

    def judge_run(self, case: dict, results: list[Any], events: list[list[dict]]) -> list[Finding | Diagnosis]:
        """The form of the history; then all there is to be said of a run."""
        histories, elapsed = [result["history"] for result in results], [result["elapsed"] for result in results]
        found = history_mistakes(histories, case["epochs"], elapsed)
        return found if found and found[0].key == "no-history" else [*found, *run_mistakes(case, results, events)]


def plain_history(history: Any) -> list[dict] | None:
    """On a rank: a history as plain data, each value as `described`; None where it is no list of dicts."""
    if not isinstance(history, (list, tuple)) or not all(isinstance(entry, dict) for entry in history):
        return None
    return [
        {"keys": [str(key) for key in entry], **{key: described(entry.get(key)) for key in KEYS}} for entry in history
    ]


def history_mistakes(histories: Sequence[Any], epochs: int, elapsed: Sequence[float]) -> list[Finding]:
    """What is wrong with the form of the ranks' histories: lists of dicts, their values as `described` gives them.

    elapsed: seconds that the whole call took, by rank.
    """
    if wrong := [rank for rank, own in enumerate(histories) if own is None or len(own) != epochs]:
        return [finding("no-history", who=name_ranks(wrong), epochs=epochs)]
    for own, whole in zip(histories, elapsed, strict=True):
        if any(sorted(entry["keys"]) != sorted(KEYS) for entry in own):
            keys = sorted({key for entry in own for key in entry["keys"]})
            return [finding("wrong-keys", keys=", ".join(keys) or "none", expected=", ".join(KEYS))]
        numbers = [entry["epoch"]["value"] for entry in own]
        if not all(map(close, numbers, range(epochs))):
            return [finding("history-epochs", numbers=numbers)]
        seconds = [entry["seconds"]["value"] for entry in own]
        if any(each is None or each < 0 for each in seconds) or sum(seconds) > whole + 1e-3:
            shown = ", ".join("none" if each is None else f"{each:.3g}" for each in seconds)
            return [finding("wrong-seconds", seconds=shown, elapsed=whole)]
    return []


CHECK = Train()
