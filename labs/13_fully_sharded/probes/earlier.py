"""What stands in for `shard`, `gathered` and `reduce_scattered` where `FullySharded` calls them. It is no model for an
answer: shards are looked up in `rank.notes`, and ranks exchange objects, in collectives that are not recorded. A note
says where one was due, and for which layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from autograde.contract.call_probe import CallRank
from course.models.memory import memory
from course.watch.notes import note
from course.watch.recorder import unwatched


def known(rank: CallRank, parameter: torch.Tensor) -> tuple[int | None, Any]:
    """Of a layer's parameter, which layer that is, and this rank's shard; it may be seen through another tensor."""
    return rank.notes["known"].get(parameter.untyped_storage()._cdata, (None, None))


def earlier(rank: CallRank, case: dict) -> dict[str, Any]:
    """`shard`, `gathered` and `reduce_scattered`."""

    def everybody(what: Any) -> list:
        return unwatched(type(rank.comm).allgather)(rank.comm, what)

    def due(kind: str, layer: nn.Module) -> None:
        number, _ = known(rank, next(layer.parameters()))
        note(rank.comm, f"{kind} {number}")
        if {*(numbers := everybody(number))} != {number}:
            raise ValueError(f"by rank, the layers for which an {kind} is called are {numbers}")

    def shard(parameter: torch.Tensor, number: int, size: int) -> torch.Tensor:
        if (number, size) != (rank.rank, rank.size):
            raise ValueError(f"this is rank {rank.rank} of {rank.size}; shard is called for {number} of {size}")
        if not memory([parameter]):
            raise RuntimeError("shard got a parameter that holds no memory")
        return known(rank, parameter)[1].clone()

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
        if not sync:
            return
        due("reduce_scatter", layer)
        for full, own in zip(layer.parameters(), shards, strict=True):
            grads = [each[rank.rank * len(own) :] for each in everybody(full.grad) if each is not None]
            own.grad = torch.zeros_like(own) if own.grad is None else own.grad
            for row, *came in zip(own.grad, *grads, strict=False):
                row += sum(came) / rank.size
            full.grad = None

    return {"shard": shard, "gathered": Gathered, "reduce_scattered": reduce_scattered}
