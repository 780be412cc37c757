"""Trainings with `FullySharded`. What it may call of earlier TODOs is no model for an answer: shards are looked up, and
everything that ranks exchange goes by objects, row by row, in collectives that are not recorded. A note says where a
collective was due, and of which layer's weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from course.models.memory import memory
from course.watch.notes import note
from course.watch.recorder import unwatched

from ..shared.trainings import batch_of, layers_of, shards_of


class Seen(Evidence):
    """losses: of each micro-batch. shards: the parameters in the end. held: bytes behind the layers' parameters: behind
    all of them and those of the layer that computes, at each forward and backward pass. between: behind all of them
    after each pass through the model."""

    losses: list[float | None]
    shards: list[Array]
    held: list[tuple[int, int]]
    between: list[int]


FREED = "a parameter that is freed"


class OtherShards(ValueError):
    """A layer gets more shards than it has parameters, or fewer."""


class Noted(nn.Module):
    """A layer that notes its passes."""

    def __init__(self, inner: nn.Module, computes: Callable[[str], None]) -> None:
        super().__init__()
        self.inner, self.computes = inner, computes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's output, at whose gradient the backward pass is noted."""
        self.computes("forward")
        y = self.inner(x)
        y.register_hook(lambda gradient: self.computes("backward"))
        return y


def shown(parameter: torch.Tensor) -> Array:
    """A parameter, unless there is no memory behind it."""
    freed = parameter.untyped_storage().nbytes() < parameter.nbytes
    return Array(FREED) if freed else Array.of(parameter.detach().clone())


def everybody(rank: CallRank, what: Any) -> list:
    """What all ranks have, by objects."""
    return unwatched(type(rank.comm).allgather)(rank.comm, what)


def earlier(rank: CallRank, case: dict) -> dict[str, Any]:
    """`shard`, `gathered` and `reduce_scattered`."""

    def shard(parameter: torch.Tensor, number: int, size: int) -> torch.Tensor:
        if (number, size) != (rank.rank, rank.size):
            raise ValueError(f"this is rank {rank.rank} of {rank.size}; shard is called for {number} of {size}")
        return rank.notes["shards"][parameter.untyped_storage()._cdata].clone()

    class Gathered:
        def __init__(self, layer: nn.Module, shards: Any) -> None:
            own, parameters = [each.tolist() for each in shards], [*layer.parameters()]
            if len(own) != len(parameters):
                raise OtherShards(f"gathered got {len(own)} shards; the layer has {len(parameters)} parameters")
            numbers = (rank.notes["layers"].get(each.untyped_storage()._cdata) for each in parameters)
            note(rank.comm, f"allgather {next(numbers, None)}")
            self.layer, self.rows = layer, everybody(rank, own)

        def __enter__(self) -> None:
            for at, parameter in enumerate(self.layer.parameters()):
                parameter.untyped_storage().resize_(parameter.nbytes)
                rows = [row for own in self.rows for row in own[at]]
                for place in range(len(parameter)):
                    parameter.data[place] = torch.tensor(rows[place], dtype=parameter.dtype)

        def __exit__(self, *error: object) -> None:
            for parameter in self.layer.parameters():
                parameter.untyped_storage().resize_(0)

    def reduce_scattered(layer: nn.Module, shards: Any, sync: bool = True) -> None:
        for parameter, own in zip(layer.parameters(), shards, strict=True) if sync else ():
            rows = zip(*everybody(rank, parameter.grad.tolist()), strict=True)
            mean = torch.stack([torch.tensor(row, dtype=own.dtype).mean(0) for row in rows])
            grad, first = torch.zeros_like(own), rank.rank * len(own)
            grad[: max(0, len(mean) - first)] = mean[first : first + len(own)]
            own.grad, parameter.grad = grad if own.grad is None else own.grad + grad, None
        if sync:
            note(rank.comm, "reduce_scatter")

    return {"shard": shard, "gathered": Gathered, "reduce_scattered": reduce_scattered}


def call(FullySharded: Callable, rank: CallRank, call: dict) -> Seen:
    """Two steps, each with some micro-batches, of which the last one is synchronised."""
    inner = layers_of(call, rank.size)
    every = [each for layer in inner for each in layer.parameters()]
    own = [each for shards in shards_of(call, rank.rank, rank.size) for each in shards]
    storages = [each.untyped_storage()._cdata for each in every]
    rank.notes["shards"] = dict(zip(storages, own, strict=True))
    numbers = [number for number, layer in enumerate(inner) for _ in layer.parameters()]
    rank.notes["layers"] = dict(zip(storages, numbers, strict=True))
    seen: dict[str, list] = {"losses": [], "held": [], "between": []}

    def computes(number: int) -> Callable[[str], None]:
        def noted(direction: str) -> None:
            note(rank.comm, direction)
            seen["held"].append((memory(every), memory(inner[number].parameters())))

        return noted

    model = FullySharded(Noted(layer, computes(number)) for number, layer in enumerate(inner))
    parameters = [*model.parameters()]
    optimizer = torch.optim.SGD(parameters, 0.1, momentum=0.9)
    for step in range(2):
        for part in range(call["parts"]):
            if call["parts"] > 1:
                model.sync = part == call["parts"] - 1
            loss = model(batch_of(call, rank.rank, step, part)).square().mean()
            seen["between"].append(memory(every))
            loss.backward()
            seen["between"].append(memory(every))
            seen["losses"].append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return Seen(shards=[*map(shown, parameters)], **seen)


PROBE = CallProbe(Seen, call, earlier, needs="torch")
