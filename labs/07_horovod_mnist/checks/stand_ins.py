"""Right functions for the TODOs before `train`: their numbers show what they were given, and they teach no answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from autograde.fixtures.numbered_net import GivenOrder, NumberedNet, NumberedSet, ids_of, state_of

from .averaging import AveragingSGD

TESTS = 1000  # the number of the first sample of a test set, by which it is told apart from the training set
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


def meet_on(device: Any, model: torch.nn.Module) -> None:
    """Compute something with the model's parameters and a tensor on this device."""
    for parameter in model.parameters():
        torch.zeros(1, dtype=parameter.dtype, device=device) + parameter.detach()


def stand_ins(case: dict, comm: Any, log: dict, device: torch.device) -> dict[str, Callable]:
    """Right functions for the earlier TODOs, which record their calls in `log`, and are no models for answers.

    The loader's orders, the start and the losses are the case's; `train_epoch` and `evaluate` work out numbers from
    which is seen what they were given. device: that `setup` chooses. Like real ones, they fail for a model that is on
    another device than they are told.
    """

    def setup() -> torch.device:
        return device

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
        meet_on(device, model)
        log["begin"] = log["begin"] or state_of(model)
        log["epochs"].append(int(epoch))
        log["drawn"].append([ids_of(inputs) for inputs, _ in loader])
        push(model, comm.rank)
        optimizer.step()
        time.sleep(PAUSE)
        return case["losses"][epoch % len(case["losses"])]

    def evaluate(model: torch.nn.Module, dataset: NumberedSet, device: Any) -> float:
        meet_on(device, model)
        comm.Barrier()
        log["evaluated"] = True
        return score(model, len(dataset))

    made = (setup, make_loader, make_optimizer, synchronize_start, train_epoch, evaluate)
    return {function.__name__: function for function in made}
