"""Calls of `train`, with right functions for the TODOs before it, which note what they are given."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number, judged_in_places, unjudged
from autograde.fixtures.numbered_net import BUFFERS, SIZES, NumberedNet, NumberedSet, state_of
from autograde.probes.checkpoint_files import read_checkpoint, recorded_saves
from autograde.probes.simulated_node import on_node
from autograde.probes.weighed_part import WeighedProbe

from .averaging import is_average
from .stand_ins import TESTS, stand_ins

KEYS = ("epoch", "loss", "accuracy", "seconds")
State = dict[str, list[float | None]]


@unjudged(kind="it chooses words")
class Saved(Evidence):
    """What is in a checkpoint, by what its entry `model` is. kind: empty if that is a state dict, `state`; "bare" if
    the weights are not in an entry; else what is there, in words."""

    kind: str
    state: State

    @classmethod
    def of(cls, content: Any) -> Saved:
        """Of a content as plain data."""
        model = content.get("model") if isinstance(content, dict) else content
        if isinstance(content, dict) and {*SIZES} <= {*content}:
            return cls("bare", {})
        if not isinstance(model, dict):
            return cls(model if isinstance(model, str) else type_in_words(model), {})
        return cls("", {name: own for name, own in model.items() if name in {**SIZES, **BUFFERS}})


class Save(Evidence):
    """A call of `torch.save`. after: how many batches the model was trained on by then."""

    after: int
    saved: Saved


class Shown(Evidence):
    """What the model was shown of the test set. after: see `Save`."""

    after: int
    ids: list[int]
    train: bool


@unjudged(elapsed="the seconds of all epochs are less by any time", error="it chooses words")
@judged_in_places(
    loaders="seeds and sizes may be others, if the batches are right",
    batches="another order may be right, too",
    history="an epoch may take any time",
    last="it is that of the rank that writes",
)
class Seen(Evidence):
    """A run. begin, state: of the model, when training began and in the end. loaders: samples, batch size and seed of
    each that `make_loader` was asked for. told: the epochs that `train_epoch` was told; none where it was not used.
    batches: that the model was trained on. tests: what it was shown of the test set; evaluated: whether `evaluate` was
    used. history: by epoch, what is in the dict; or its type, in words. elapsed: of the call, in seconds. there, error:
    of the checkpoint in the end."""

    begin: State | None
    state: State
    loaders: list[tuple[int, int, int]]
    told: list[int]
    batches: list[list[int]]
    tests: list[Shown]
    evaluated: bool
    history: list[dict[str, Number]] | str
    elapsed: float
    saves: list[Save]
    there: bool
    error: str | None
    last: Saved | None


class Log:
    """What a rank notes. A model that has it as `record` can be saved as a whole."""

    def __init__(self) -> None:
        self.begin: State | None = None
        self.loaders, self.told, self.batches, self.tests = [], [], [], []
        self.evaluated = False

    def __call__(self, net: NumberedNet, ids: list[int]) -> None:
        """Note a forward pass."""
        if max(ids, default=0) >= TESTS:
            self.tests.append(Shown(len(self.batches), [each - TESTS for each in ids], net.training))
        else:
            self.begin = self.begin or state_of(net)
            self.batches.append(ids)


def names(rank: CallRank, case: dict) -> dict[str, Callable]:
    """The functions of earlier TODOs, with a new log."""
    log = rank.notes["log"] = Log()
    return stand_ins(case["calls"][rank.number], rank.comm, log, rank.torch_device)


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A run of some epochs."""
    path, log, saves = os.path.join(rank.folder, f"model-{rank.number}.pt"), rank.notes["log"], []
    model = NumberedNet(call["models"][rank.rank], follows=0.0, record=log)
    sets = NumberedSet(call["samples"], call["data"]), NumberedSet(call["tests"], call["test_data"], first=TESTS)
    with recorded_saves(saves, lambda: len(log.batches)):
        began = time.perf_counter()
        history = train(model, *sets, call["epochs"], call["batch_size"], call["lr"], call["loader_seed"], path)
        elapsed = time.perf_counter() - began
    file = read_checkpoint(path)  # judged is what the rank sees that has written it
    return Seen(
        **vars(log),
        state=state_of(model),
        history=plain_history(history),
        elapsed=elapsed,
        saves=[Save(each["after"], Saved.of(each["content"])) for each in saves],
        there=file["there"],
        error=file["error"],
        last=Saved.of(file["content"]) if file["there"] and file["error"] is None else None,
    )


def plain_history(history: Any) -> list[dict[str, Number]] | str:
    """A history as plain data; its type where it is no list of dicts."""
    if not isinstance(history, (list, tuple)):
        return type_in_words(history)
    if other := [entry for entry in history if not isinstance(entry, dict)]:
        return f"a list with {type_in_words(other[0])} in it"
    return [{name: Number.of(entry[name]) for name in KEYS if name in entry} for entry in history]


class TrainProbe(WeighedProbe):
    """The run, or one in which a rank's part of a loss or an accuracy weighs more."""

    def alone(self, event: dict) -> bool:
        """See `WeighedProbe`."""
        return is_average(event)


PROBE = TrainProbe(Seen, call, names, on_node, needs="horovod", deadline=20)
