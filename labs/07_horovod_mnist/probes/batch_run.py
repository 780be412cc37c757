"""Calls of `batch_run`, with a `train` that only notes what it is given; and a run that is on record, once more."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from autograde.contract.call_probe import CallProbe, CallRank, Rerun
from autograde.contract.evidence import Evidence, Number, judged_in_places
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.probes.simulated_node import on_node


@judged_in_places(state="rank 0 passes its own on to the others")
class Passed(Evidence):
    """What `train` is given. sets: how many samples they have. state: of the model, if it is one that `digit_model`
    gave."""

    sets: tuple[int, int]
    checkpoint: str
    state: dict[str, list[float | None]] | None
    epochs: Number
    batch_size: Number
    lr: Number
    seed: Number


class Seen(Evidence):
    """The calls of `train`, and the losses in the history that came back; None where there is none."""

    calls: list[Passed]
    losses: list[float | None] | None


def losses_of(history: Any) -> list[float | None] | None:
    """The losses in a history; None where it is no list of dicts."""
    if not isinstance(history, (list, tuple)) or not all(isinstance(entry, dict) for entry in history):
        return None
    losses = [Number.of(entry.get("loss")).value for entry in history]
    return [None if each is None or not math.isfinite(each) else float(each) for each in losses]


def history_of(call: dict) -> list[dict]:
    """What `train` returns."""
    return [{"epoch": epoch, "loss": loss} for epoch, loss in enumerate(call["losses"])]


def model_maker(call: dict) -> Callable[[int], NumberedNet]:
    """What stands for `digit_model`: it gives a model for any seed."""
    return lambda seed: NumberedNet(call["model"] + int(seed))


def names(rank: CallRank, case: dict) -> dict[str, Callable]:
    """A `train` that notes what it is given, and `digit_model`."""
    about, made = case["calls"][rank.number], rank.notes.setdefault("made", [])

    def train(
        model: Any, train_set: Any, test_set: Any, epochs: Any, batch_size: Any, lr: Any, seed: Any, checkpoint: Any
    ) -> list[dict]:
        state = state_of(model) if isinstance(model, NumberedNet) else None
        numbers = map(Number.of, (epochs, batch_size, lr, seed))
        made.append(Passed((len(train_set), len(test_set)), str(checkpoint), state, *numbers))
        return history_of(about)

    return {"train": train, "digit_model": model_maker(about)}


@contextmanager
def around(rank: CallRank, call: dict) -> Iterator[None]:
    """A node, on which `digit_model` may be imported, too."""
    with on_node(rank, call), mock.patch("course.models.digits.digit_model", model_maker(call)):
        yield


def call(batch_run: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    sets = NumberedSet(call["samples"], call["data"]), NumberedSet(call["tests"], call["data"])
    returned = batch_run(*sets, len(call["losses"]), call["checkpoint"])
    return Seen(rank.notes.pop("made", []), losses_of(returned))


def again(rank: CallRank, case: dict) -> Rerun:
    """The first epochs of a run on record, by all of the student's functions."""
    from course.models.digits import digit_model, some_digits

    train_set, test_set = some_digits()
    batch_run, path = rank.subject.load_all(digit_model=digit_model), os.path.join(rank.folder, "digits.pt")
    history = batch_run(train_set, test_set, case["epochs"], path)
    return Rerun(losses_of(history), train_set.dataset.fingerprint)


PROBE = CallProbe(Seen, call, names, around, needs="horovod", deadline=20, again=again)
