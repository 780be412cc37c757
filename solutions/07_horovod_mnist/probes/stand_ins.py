"""Right functions for the TODOs before `train`: their numbers show what they were given, and they teach no answer. Each
notes its name in the record when it is called, and when it returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.utils.data import DataLoader

from autograde.fixtures.numbered_net import GivenOrder, NumberedSet, ids_of, state_of
from course.watch.notes import note
from course.watch.recorder import unwatched

from ..shared.stand_ins import push, score
from .averaging import AveragingSGD

TESTS = 1000  # the number of the first sample of a test set, by which it is told apart from the training set
LEFT = "left"  # note that such a function returns
PAUSE = 0.03  # seconds that the stand-in for an epoch takes


def meet_on(device: Any, model: torch.nn.Module) -> None:
    """Compute something with the model's parameters and a tensor on this device."""
    for parameter in model.parameters():
        torch.zeros(1, dtype=parameter.dtype, device=device) + parameter.detach()


def stand_ins(call: dict, comm: Any, log: Any, device: torch.device) -> dict[str, Callable]:
    """Right functions for the earlier TODOs, which record their calls in `log`, and are no models for answers.

    The loader's orders and the losses are the call's; `train_epoch` and `evaluate` work out numbers from which is seen
    what they were given. device: that `setup` chooses. Like real ones, they fail for a model that is on another device
    than they are told.
    """

    def noted(function: Callable) -> Callable:
        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            note(comm, function.__name__)
            result = function(*args, **kwargs)
            note(comm, LEFT)
            return result

        return called

    def setup() -> torch.device:
        return device

    def make_loader(dataset: NumberedSet, batch_size: int, seed: int) -> DataLoader:
        log.loaders.append((len(dataset), int(batch_size), int(seed)))
        known = len(dataset) == call["samples"]
        orders = {epoch: own[comm.rank] for epoch, own in enumerate(call["orders"])} if known else {}
        other = call["other"][comm.rank] if known else range(comm.rank, len(dataset), comm.size)
        return DataLoader(dataset, batch_size=batch_size, sampler=GivenOrder(orders, other))

    def make_optimizer(model: torch.nn.Module, lr: float) -> AveragingSGD:
        return AveragingSGD(model.parameters(), comm, lr=lr * comm.size, momentum=0.9)

    def synchronize_start(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        comm.Barrier()
        state = [each.cpu().numpy() for each in model.state_dict().values()]
        for own, values in zip(model.state_dict().values(), unwatched(type(comm).bcast)(comm, state, 0), strict=True):
            own.copy_(torch.from_numpy(values))

    def train_epoch(model: Any, loader: Any, optimizer: Any, epoch: int, device: Any) -> float:
        meet_on(device, model)
        log.begin = log.begin or state_of(model)
        log.told.append(int(epoch))
        loader.sampler.set_epoch(int(epoch))
        batches = [ids_of(inputs) for inputs, _ in loader]
        log.batches += batches
        push(model, comm.rank)
        optimizer.step()
        time.sleep(PAUSE)
        return call["losses"][epoch % len(call["losses"])]

    def evaluate(model: torch.nn.Module, dataset: NumberedSet, device: Any) -> float:
        meet_on(device, model)
        comm.Barrier()
        log.evaluated = True
        return score(model, len(dataset))

    made = (setup, make_loader, make_optimizer, synchronize_start, train_epoch, evaluate)
    return {function.__name__: noted(function) for function in made}
