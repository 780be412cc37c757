"""Trainings with `FullySharded`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_places
from course.models.memory import memory
from course.watch.notes import note

from ..shared.layers import layer_of, shards_of
from ..shared.trainings import batch_of, calls_of
from .earlier import earlier


@judged_in_places(held="less than what is needed is no mistake")
class Seen(Evidence):
    """losses: of each micro-batch. shards: the parameters in the end. held: bytes behind all layers' parameters, and
    those that the layer needs that computes, at each of its passes; none after each pass through the model."""

    losses: list[float | None]
    shards: list[Array]
    held: list[tuple[int, int]]


def shown(parameter: torch.Tensor) -> Array:
    """A parameter, unless it can be no shard."""
    freed = parameter.untyped_storage().nbytes() < parameter.nbytes
    kind = "a parameter that is freed" if freed else "" if parameter.requires_grad else "one that needs no gradient"
    return Array(kind) if kind else Array.of(parameter.detach().clone())


def call(FullySharded: Callable, rank: CallRank, call: dict) -> Seen:
    """Two steps, each with some micro-batches, of which the last one is synchronised."""
    layers, every, losses, held = [layer_of(each, rank.size) for each in calls_of(call)], [], [], []
    rank.notes["known"] = {}

    def computes(number: int, direction: str) -> None:
        note(rank.comm, f"{direction} {number}")
        own = [*layers[number].parameters()]
        if not all(memory([each]) for each in own):
            raise RuntimeError(f"layer {number} begins its {direction} pass, and its parameters hold no memory")
        held.append((memory(every), memory(own)))

    for number, (layer, about) in enumerate(zip(layers, calls_of(call), strict=True)):
        layer.register_forward_pre_hook(lambda *_, number=number: computes(number, "forward"))
        layer.register_full_backward_pre_hook(lambda *_, number=number: computes(number, "backward"))
        for parameter, own in zip(layer.parameters(), shards_of(about, rank.rank, rank.size), strict=True):
            every.append(parameter)
            rank.notes["known"][parameter.untyped_storage()._cdata] = number, own
    model = FullySharded(iter(layers))
    parameters = [*model.parameters()]
    optimizer = torch.optim.SGD(parameters or [torch.zeros(1)], 0.1, momentum=0.9)
    for step in range(2):
        for part in range(call["parts"]):
            if call["parts"] > 1:
                model.sync = part == call["parts"] - 1
            # The samples need a gradient, so that there is a backward pass also where no parameter is registered.
            loss = model(batch_of(call, rank.rank, step, part).requires_grad_()).square().mean()
            held.append((memory(every), 0))
            loss.backward()
            held.append((memory(every), 0))
            losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return Seen(losses, [*map(shown, parameters)], held)


PROBE = CallProbe(Seen, call, earlier, needs="torch")
