"""A TODO `train` on the ranks: stand-ins for the functions it may call, and all that is noted of a run.

`autograde.trained` has the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from autograde.noted_saves import noted_saves, read_back, shared_path
from autograde.played import played_node, seeded_apart
from autograde.probes import described, meet
from course.averaging import AveragingSGD
from course.numbered import GivenOrder, NumberedNet, NumberedSet, ids_of, state_of

KEYS = ("epoch", "loss", "accuracy", "seconds")
TESTS = 1000  # the number of the first sample of a test set, by which it is told apart from the training set
CPU = torch.device("cpu")
PAUSE = 0.03  # seconds that the stand-in for an epoch takes


def score(model: torch.nn.Module, samples: int) -> float:
    """What the stand-in for an evaluation returns: between 0 and 1, another number for each model and set."""
    values = torch.cat([each.detach().double().flatten().cpu() for each in model.parameters()])
    return float(torch.sigmoid(values.sum() / 10 + samples / 7))


def push(model: torch.nn.Module, rank: int) -> None:
    """The stand-in for a gradient: each rank its own."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, 0.1 * (rank + 1))


def stand_ins(case: dict, comm: Any, log: dict) -> dict[str, Callable]:
    """Right functions for the earlier TODOs, which note their calls in `log`, and are no models for answers.

    The loader's orders, the start and the losses are the case's; `train_epoch` and `evaluate` work out numbers from
    which is seen what they were given.
    """

    def setup() -> torch.device:
        return CPU

    def make_loader(dataset: NumberedSet, batch_size: int, seed: int) -> DataLoader:
        log["loaders"].append([len(dataset), batch_size, seed])
        known = len(dataset) == case["samples"]
        orders = {epoch: own[comm.rank] for epoch, own in enumerate(case["orders"])} if known else {}
        other = case["other"][comm.rank] if known else range(comm.rank, len(dataset), comm.size)
        return DataLoader(dataset, batch_size=batch_size, sampler=GivenOrder(orders, other))

    def make_optimizer(model: torch.nn.Module, lr: float) -> AveragingSGD:
        return AveragingSGD(model.parameters(), comm, lr=lr * comm.size, momentum=case["momentum"])

    def synchronize_start(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        comm.Barrier()
        model.load_state_dict(NumberedNet(case["models"][0]).state_dict())

    def train_epoch(model: Any, loader: Any, optimizer: Any, epoch: int, device: Any) -> float:
        log["begin"] = log["begin"] or state_of(model)
        log["epochs"].append(int(epoch))
        log["drawn"].append([ids_of(inputs) for inputs, _ in loader])
        push(model, comm.rank)
        optimizer.step()
        time.sleep(PAUSE)
        return case["losses"][epoch % len(case["losses"])]

    def evaluate(model: torch.nn.Module, dataset: NumberedSet, device: Any) -> float:
        comm.Barrier()
        log["evaluated"] = True
        return score(model, len(dataset))

    made = (setup, make_loader, make_optimizer, synchronize_start, train_epoch, evaluate)
    return {function.__name__: function for function in made}


def train_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's `train`."""
    log: dict = {
        "begin": None,
        "forwards": [],
        "drawn": [],
        "loaders": [],
        "epochs": [],
        "saves": [],
        "evaluated": False,
    }

    def after() -> int:
        """How many batches, or epochs of the stand-in, the model was trained on by now."""
        return len(log["drawn"]) + sum(max(ids, default=0) < TESTS for ids, *_ in log["forwards"])

    def shown(net: NumberedNet, ids: list[int]) -> None:
        log["begin"] = log["begin"] or state_of(net)
        log["forwards"].append([ids, net.training, after()])

    model = NumberedNet(case["models"][comm.rank], follows=0.0, record=shown)
    sets = NumberedSet(case["samples"], case["data"]), NumberedSet(case["tests"], case["test_data"], first=TESTS)
    place = played_node(comm.rank % case["local_size"], case["local_size"])
    with seeded_apart(comm.rank), place, shared_path(comm, "model.pt") as path, noted_saves(log["saves"], after):
        train, began = subject.load(**stand_ins(case, comm, log)), time.perf_counter()
        history = train(model, *sets, case["epochs"], case["batch_size"], case["lr"], case["seed"], path)
        elapsed = time.perf_counter() - began
        meet(comm)
        file = read_back(path)
        meet(comm)
    return {**log, "history": history_told(history), "elapsed": elapsed, "file": file, "state": state_of(model)}


def history_told(history: Any) -> list[dict] | None:
    """On a rank: a history as plain data, each value as `described`; None where it is no list of dicts."""
    if not isinstance(history, (list, tuple)) or not all(isinstance(entry, dict) for entry in history):
        return None
    return [
        {"keys": [str(key) for key in entry], **{key: described(entry.get(key)) for key in KEYS}} for entry in history
    ]
