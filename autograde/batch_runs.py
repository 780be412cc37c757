"""A TODO `batch_run` on the ranks: with a `train` that only notes what it is given, and for real.

`autograde.batched` has the verdict.
"""

from __future__ import annotations

from typing import Any

from autograde.noted_saves import shared_path
from autograde.played import seeded_apart
from autograde.probes import described
from course.digit_training import digit_model, some_digits
from course.numbered import NumberedNet, NumberedSet, state_of


def told_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's `batch_run`, with a `train` that only notes what it is given."""
    calls: list[dict] = []
    history = [{"epoch": epoch, "loss": loss} for epoch, loss in enumerate(case["losses"])]

    def train(
        model: Any, train_set: Any, test_set: Any, epochs: Any, batch_size: Any, lr: Any, seed: Any, checkpoint: Any
    ) -> list[dict]:
        told = {"epochs": epochs, "batch_size": batch_size, "lr": lr, "seed": seed}
        about = {"sets": [len(train_set), len(test_set)], "checkpoint": str(checkpoint), "state": state_of(model)}
        calls.append({**about, **{name: described(value) for name, value in told.items()}})
        return history

    def play_model(seed: int) -> NumberedNet:
        return NumberedNet(case["models"][seed])

    sets = NumberedSet(case["samples"], case["data"]), NumberedSet(case["tests"], case["data"])
    with seeded_apart(comm.rank):
        batch_run = subject.load(train=train, digit_model=play_model)
        returned = batch_run(*sets, len(history), case["checkpoint"])
    losses = [entry.get("loss") for entry in returned] if is_history(returned) else None
    return {"calls": calls, "losses": losses and [described(loss)["value"] for loss in losses]}


def real_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's `batch_run` with the student's other functions, on real images."""
    train_set, test_set = some_digits()
    with shared_path(comm, "digits.pt") as path:
        history = subject.load_all(digit_model=digit_model)(train_set, test_set, case["epochs"], path)
    losses = [described(entry.get("loss"))["value"] for entry in history] if is_history(history) else None
    return {"losses": losses, "data": train_set.dataset.fingerprint}


def is_history(value: Any) -> bool:
    """Whether this is a list of dicts."""
    return isinstance(value, (list, tuple)) and all(isinstance(entry, dict) for entry in value)
