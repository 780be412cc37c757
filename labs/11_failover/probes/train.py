"""Calls of `train`, some after a rank was killed in another one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number
from autograde.fixtures.numbered_net import NumberedSet
from autograde.fixtures.stepped import group_device
from course.models.settled import settled

from ..shared.training import LYING, DroppingNet, generator_after, momentum_before

MARKER = "killed"  # a file that says that a rank died where it was to
MOST = 400  # of whatever is noted
NOWHERE = (-1, -1)  # the place of a sampler that has not been told one


class Forward(Evidence):
    """A forward pass: which samples, and all weights before it."""

    ids: list[int]
    weights: list[float | None]


class Seen(Evidence):
    """One call. survived: whether a rank was to be killed in this run, and did not get there. begins: epoch, consumed
    and steps of the checkpoint that was there. kind, losses: what was returned. passes: of the sampler, from which
    place, and how many steps were made before. steps: in all. asked: how many were made at each `agreed()`. saves:
    places, and how many steps were made."""

    survived: bool
    begins: tuple[int, int, int]
    kind: str
    losses: list[Number] | None
    passes: list[tuple[int, int, int]]
    forwards: list[Forward]
    steps: int
    asked: list[int]
    saves: list[tuple[int, int, int]]


class Notes:
    """What `train` does in one call, on this rank; also the Preemption that it asks.

    net: its model. stop: after how many steps all are to leave, or None. kill: in which forward pass this rank is to
    die, or 0. folder: for the marker.
    """

    def __init__(self, net: DroppingNet, optimizer: Any, stop: int | None, kill: int, folder: str) -> None:
        self.stop, self.kill, self.folder, self.steps = stop, kill, folder, 0
        self.passes, self.forwards, self.asked, self.saves = [], [], [], []
        net.record = self.forward
        optimizer.register_step_post_hook(lambda *_: self.step())

    def forward(self, net: DroppingNet, ids: list[int]) -> None:
        """Note a forward pass, or die in it."""
        self.forwards.append(Forward(ids, net.row()))
        if self.steps == self.kill - 1:
            Path(self.folder, MARKER).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def step(self) -> None:
        """Note a step of the optimizer."""
        self.steps += 1

    def agreed(self) -> bool:
        """Whether all ranks are to leave."""
        self.asked.append(self.steps)
        return self.stop is not None and self.steps >= self.stop

    def seen(self, survived: bool, begins: tuple[int, int, int], value: Any) -> Seen:
        """All of it. survived, begins: see `Seen`. value: what was returned."""
        losses = [Number.of(each) for each in value[:MOST]] if isinstance(value, (list, tuple)) else None
        noted = (each[:MOST] for each in (self.passes, self.forwards))
        return Seen(
            survived, begins, type(value).__name__, losses, *noted, self.steps, self.asked[:MOST], self.saves[:MOST]
        )


class DealtSampler(Sampler):
    """A ResumableSampler whose epochs' orders are known beforehand."""

    def __init__(self, case: dict, rank: CallRank, notes: Notes) -> None:
        self.orders, self.rank, self.size, self.notes, self.place = case["orders"], rank.rank, rank.size, notes, NOWHERE

    def set_position(self, epoch: int, consumed: int) -> None:
        """Note the place."""
        self.place = int(epoch), int(consumed)

    def share(self) -> list[int]:
        """This rank's samples from here."""
        epoch, consumed = (0, 0) if self.place == NOWHERE else self.place
        order = self.orders[epoch % len(self.orders)]
        rest = order[consumed:]
        return (rest + order[: -len(rest) % self.size])[self.rank :: self.size]

    def __iter__(self) -> Iterator[int]:
        self.notes.passes.append((*self.place, self.notes.steps))
        return iter(self.share())

    def __len__(self) -> int:
        return len(self.share())


class Keeper:
    """Right `save_checkpoint` and `load_checkpoint`, which keep what they keep in a form of their own.

    notes: of the call. loaded: how many steps had been made when what the call has loaded was saved.
    """

    def __init__(self, comm: Any) -> None:
        self.rank, self.saves, self.notes, self.loaded = comm.rank, comm.Dup(), None, 0

    def save(self, path: str, model: Any, optimizer: Any, epoch: int, consumed: int) -> None:
        """Write everything, and note when."""
        self.notes.saves.append((int(epoch), int(consumed), self.notes.steps))
        states = [optimizer.state[each] for group in optimizer.param_groups for each in group["params"]]
        momentum = [state["momentum_buffer"].cpu() for state in states if "momentum_buffer" in state]
        place = [int(epoch), int(consumed), self.loaded + self.notes.steps]
        kept = {"model": model.module.state_dict(), "momentum": momentum, "place": place}
        random = self.saves.allgather(torch.get_rng_state())
        if self.rank == 0:
            torch.save({**kept, "random": random}, path + ".new")
            os.rename(path + ".new", path)
        self.saves.Barrier()

    def load(self, path: str, model: Any, optimizer: Any) -> tuple[int, int]:
        """Put everything back."""
        if not os.path.isfile(path):
            return 0, 0
        kept = torch.load(path, map_location="cpu", weights_only=True)
        model.module.load_state_dict(kept["model"])
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        for parameter, momentum in zip(parameters, kept["momentum"], strict=False):
            optimizer.state[parameter]["momentum_buffer"] = momentum.to(parameter.device)
        torch.set_rng_state(kept["random"][self.rank])
        epoch, consumed, self.loaded = kept["place"]
        return epoch, consumed


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """Functions that save and load; there may be a checkpoint already."""
    path = os.path.join(rank.folder, "checkpoint.pt")
    if case["begin"] and rank.rank == 0:
        net = DroppingNet(case["model"], case["dropout"])
        kept = {"model": net.state_dict(), "momentum": momentum_before(net, case["data"])}
        kept |= {"place": [*case["begin"], 0]}
        torch.save({**kept, "random": [generator_after([luck, 0]).get_state() for luck in case["luck"]]}, path)
    rank.meet()
    keeper = Keeper(rank.comm)
    rank.notes |= {"case": case, "path": path, "keeper": keeper, "first": not os.path.exists(path)}
    return {"save_checkpoint": keeper.save, "load_checkpoint": keeper.load}


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A call with a new model."""
    case, path, keeper = (rank.notes[name] for name in ("case", "path", "keeper"))
    device, data = group_device(), NumberedSet(case["samples"], case["data"])
    known = rank.notes["first"] and rank.number == 0
    net = DroppingNet(case["model"] if known else case["model"] + 1 + rank.number, case["dropout"]).to(device)
    model = DistributedDataParallel(net, device_ids=[device] if device.type == "cuda" else None)
    if not rank.on_gpu:  # where nothing but devices is judged; and a simulated one has no random numbers
        settled(model, data.inputs[:1])
    for each in net.parameters():
        each.grad = torch.full_like(each, LYING)
    optimizer = torch.optim.SGD(net.parameters(), case["lr"], momentum=0.9)
    dies = case.get("dies", False)
    kill = case["kill"][1] if dies and rank.rank == case["kill"][0] else 0
    keeper.loaded, keeper.notes = 0, (notes := Notes(net, optimizer, call["stop"], kill, rank.folder))
    sampler = DealtSampler(case, rank, notes)
    loader = DataLoader(data, case["batch"], sampler=sampler, generator=torch.Generator())
    begins = torch.load(path, weights_only=True)["place"] if os.path.isfile(path) else (0, 0, 0)
    torch.manual_seed(case["luck"][rank.rank] + (0 if known else 77 + rank.number))
    rank.meet()
    value = train(model, loader, optimizer, cross_entropy, call["epochs"], case["every"], path, notes)
    return notes.seen(dies, tuple(begins), value)


class KillingProbe(CallProbe):
    """A run; or one in which a rank is killed, and another one, by other ranks, which goes on.

    Its outcome is that of the last run that there was. A run in which just that rank died at its place does not count.
    """

    def in_folder(self, world: Any, subject: Any, case: dict, folder: str) -> dict:
        """See `CallProbe`."""
        if case["kill"]:
            run = super().in_folder(world, subject, {**case, "dies": True}, folder)
            killed = run["ranks"][case["kill"][0]]["code"] == -signal.SIGKILL and Path(folder, MARKER).exists()
            if run["state"] != "rank-died" or not killed:
                return run
            case = {**case, "ranks": case["kill"][2]}
        return super().in_folder(world, subject, case, folder)


PROBE = KillingProbe(Seen, call, names, needs="torch", deadline=12)
