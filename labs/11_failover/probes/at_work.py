"""What `train` works with in its check: a sampler, a preemption, and functions that save and load. They are right, and
no model for an answer: what they keep has a form of its own."""

from __future__ import annotations

import os
from typing import Any

import torch

from autograde.contract.call_probe import CallRank
from autograde.probes.killed_run import die_here

from ..shared.training import DroppingNet, generator_after, momentum_before


class DealtSampler(list):
    """A ResumableSampler whose epochs' orders are known beforehand; at first, it is at the beginning of the first."""

    def __init__(self, orders: list[list[int]], rank: CallRank) -> None:
        super().__init__()
        self.orders, self.rank, self.size = orders, rank.rank, rank.size
        self.set_position(0, 0)

    def set_position(self, epoch: int, consumed: int) -> None:
        """Go to a place."""
        order = self.orders[int(epoch) % len(self.orders)]
        rest = order[int(consumed) :]
        self[:] = (rest + order[: -len(rest) % self.size])[self.rank :: self.size]

    def __iter__(self) -> Any:
        return iter(self[:])  # a pass that is under way goes on as it began


class Training:
    """What happens in a call on this rank.

    stop: after how many steps all are to leave, or None. kill: in which forward pass this rank is to die, or 0.
    """

    def __init__(self, rank: CallRank, stop: int | None, kill: int) -> None:
        path = rank.notes["path"]
        self.rank, self.stop, self.kill = rank, stop, kill
        self.shown: list[tuple] = []  # since the last step, of each forward pass, samples and weights
        self.steps: list[tuple] = []
        self.asked: list[int] = []
        self.saves: list[tuple[int, int, int]] = []
        self.begins = tuple(torch.load(path, weights_only=True)["place"]) if os.path.isfile(path) else (0, 0, 0)
        self.loaded = 0  # steps that had been made when what is loaded was saved

    def forward(self, net: DroppingNet, ids: list[int]) -> None:
        """Note a forward pass, or die in it."""
        self.shown.append((ids, net.row()))
        if len(self.steps) == self.kill - 1:
            die_here(self.rank.folder)

    def step(self, *_: Any) -> None:
        """Note a step of the optimizer."""
        ids = [number for own, _ in self.shown for number in own]
        self.steps.append((ids, self.shown[0][1] if self.shown else []))
        self.shown = []

    def agreed(self) -> bool:
        """Whether all ranks are to leave."""
        self.asked.append(len(self.steps))
        return self.stop is not None and len(self.steps) >= self.stop

    def save(self, path: str, model: Any, optimizer: Any, epoch: int, consumed: int) -> None:
        """Write everything, and note when."""
        epoch, consumed = int(epoch), int(consumed)
        self.saves.append((epoch, consumed, len(self.steps)))
        momentum = [optimizer.state[each].get("momentum_buffer") for each in model.module.parameters()]
        random = self.rank.notes["comm"].allgather(torch.get_rng_state())
        if self.rank.rank == 0:
            keep(path, model.module, momentum, [epoch, consumed, self.loaded + len(self.steps)], random)
        self.rank.notes["comm"].Barrier()

    def load(self, path: str, model: Any, optimizer: Any) -> tuple[int, int]:
        """Put everything back."""
        if not os.path.isfile(path):
            return 0, 0
        kept = torch.load(path, map_location="cpu", weights_only=True)
        model.module.load_state_dict(kept["model"])
        for parameter, momentum in zip(model.module.parameters(), kept["momentum"], strict=True):
            if momentum is not None:
                optimizer.state[parameter]["momentum_buffer"] = momentum.to(parameter.device)
        torch.set_rng_state(kept["random"][self.rank.rank])
        *place, self.loaded = kept["place"]
        return tuple(place)


def keep(path: str, net: DroppingNet, momentum: list, place: list[int], random: list) -> None:
    """Write a checkpoint. place: epoch, consumed, and how many steps were made."""
    torch.save({"model": net.state_dict(), "momentum": momentum, "place": place, "random": random}, path + ".new")
    os.rename(path + ".new", path)


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """Functions that save and load; there may be a checkpoint already."""
    path = os.path.join(rank.folder, "checkpoint.pt")
    if case["begin"] and rank.rank == 0:
        net = DroppingNet(case["model"], case["dropout"])
        random = [generator_after([luck, 0]).get_state() for luck in case["luck"]]
        keep(path, net, momentum_before(net, case["data"]), [*case["begin"], 0], random)
    rank.meet()
    rank.notes |= {"case": case, "path": path, "comm": rank.comm.Dup(), "first": not os.path.exists(path)}
    functions = {"save_checkpoint": Training.save, "load_checkpoint": Training.load}

    def of_this_call(function: Any) -> Any:
        return lambda *given, **named: function(rank.notes["training"], *given, **named)

    return {name: of_this_call(function) for name, function in functions.items()}
