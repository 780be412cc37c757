"""Trainings with `FullySharded`. What it may call of earlier TODOs is no model for an answer: shards are looked up, and
ranks exchange objects, in collectives that are not recorded. A note says where one was due, and for which layer."""

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

from ..shared.layers import layer_of, shards_of
from ..shared.trainings import batch_of, calls_of


class Seen(Evidence):
    """losses: of each micro-batch. shards: the parameters in the end. held: bytes behind the layers' parameters: behind
    all of them and those of the layer that computes, at each forward and backward pass. between: behind all of them
    after each pass through the model."""

    losses: list[float | None]
    shards: list[Array]
    held: list[tuple[int, int]]
    between: list[int]


def shown(parameter: torch.Tensor) -> Array:
    """A parameter, unless it can be no shard."""
    freed = parameter.untyped_storage().nbytes() < parameter.nbytes
    kind = "a parameter that is freed" if freed else "" if parameter.requires_grad else "one that needs no gradient"
    return Array(kind) if kind else Array.of(parameter.detach().clone())


def earlier(rank: CallRank, case: dict) -> dict[str, Any]:
    """`shard`, `gathered` and `reduce_scattered`."""

    def everybody(what: Any) -> list:
        return unwatched(type(rank.comm).allgather)(rank.comm, what)

    def due(kind: str, layer: nn.Module) -> None:
        number = rank.notes["layers"].get(next(layer.parameters()).untyped_storage()._cdata)
        note(rank.comm, f"{kind} {number}")
        if {*(numbers := everybody(number))} != {number}:
            raise ValueError(f"by rank, the layers for which an {kind} is called are {numbers}")

    def shard(parameter: torch.Tensor, number: int, size: int) -> torch.Tensor:
        if (number, size) != (rank.rank, rank.size):
            raise ValueError(f"this is rank {rank.rank} of {rank.size}; shard is called for {number} of {size}")
        if not memory([parameter]):
            raise RuntimeError("shard got a parameter that holds no memory")
        return rank.notes["shards"][parameter.untyped_storage()._cdata].clone()

    class Gathered:
        def __init__(self, layer: nn.Module, shards: Any) -> None:
            self.parameters, own = [*layer.parameters()], [each.detach() for each in shards]
            if len(own) != (n := len(self.parameters)):
                raise ValueError(f"gathered got {len(own)} shards, and the layer has {n} parameters")
            due("allgather", layer)
            self.rows = [[row for came in everybody(each) for row in came] for each in own]

        def __enter__(self) -> None:
            for parameter, rows in zip(self.parameters, self.rows, strict=True):
                parameter.untyped_storage().resize_(parameter.nbytes)
                for row, came in zip(parameter.data, rows, strict=False):
                    row.copy_(came)

        def __exit__(self, *error: object) -> None:
            for parameter in self.parameters:
                parameter.untyped_storage().resize_(0)

    def reduce_scattered(layer: nn.Module, shards: Any, sync: bool = True) -> None:
        if sync:
            due("reduce_scatter", layer)
        for parameter, own in zip(layer.parameters(), shards, strict=True) if sync else ():
            grads = everybody(torch.zeros(parameter.shape).double() if parameter.grad is None else parameter.grad)
            own.grad = torch.zeros_like(own) if own.grad is None else own.grad
            for row, *came in zip(own.grad, *(each[rank.rank * len(own) :] for each in grads), strict=False):
                row += sum(came) / rank.size
            parameter.grad = None

    return {"shard": shard, "gathered": Gathered, "reduce_scattered": reduce_scattered}


def call(FullySharded: Callable, rank: CallRank, call: dict) -> Seen:
    """Two steps, each with some micro-batches, of which the last one is synchronised."""
    layers, every = [layer_of(each, rank.size) for each in calls_of(call)], []
    seen: dict[str, list] = {"losses": [], "held": [], "between": []}
    rank.notes["layers"], rank.notes["shards"] = {}, {}

    def computes(number: int, direction: str) -> None:
        note(rank.comm, f"{direction} {number}")
        if not all(memory([each]) for each in layers[number].parameters()):
            raise RuntimeError(f"layer {number} begins its {direction} pass, and its parameters hold no memory")
        seen["held"].append((memory(every), memory(layers[number].parameters())))

    def noted(layer: nn.Module, number: int, one: dict) -> nn.Module:
        def forward(_: Any, __: Any, y: torch.Tensor) -> None:
            y.register_hook(lambda gradient: computes(number, "backward"))

        layer.register_forward_pre_hook(lambda *_: computes(number, "forward"))
        layer.register_forward_hook(forward)
        for parameter, own in zip(layer.parameters(), shards_of(one, rank.rank, rank.size), strict=True):
            every.append(parameter)
            storage = parameter.untyped_storage()._cdata
            rank.notes["layers"][storage], rank.notes["shards"][storage] = number, own
        return layer

    model = FullySharded(iter([*map(noted, layers, range(len(layers)), calls_of(call))]))
    parameters = [*model.parameters()]
    optimizer = torch.optim.SGD(parameters or [torch.zeros(1)], 0.1, momentum=0.9)
    for step in range(2):
        for part in range(call["parts"]):
            if call["parts"] > 1:
                model.sync = part == call["parts"] - 1
            # The samples need a gradient, so that there is a backward pass also where no parameter is registered.
            loss = model(batch_of(call, rank.rank, step, part).requires_grad_()).square().mean()
            seen["between"].append(memory(every))
            loss.backward()
            seen["between"].append(memory(every))
            seen["losses"].append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return Seen(shards=[*map(shown, parameters)], **seen)


PROBE = CallProbe(Seen, call, earlier, needs="torch")
