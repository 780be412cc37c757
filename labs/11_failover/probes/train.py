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
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence
from autograde.fixtures.numbered_net import NumberedSet
from autograde.fixtures.stepped import group_device
from course.models.settled import settled

from ..shared.training import LYING, DroppingNet, generator_after, momentum_before

MARKER = "killed"  # a file that says that a rank died where it was to
MOST = 400  # of whatever is noted


class Step(Evidence):
    """A step of the optimizer. ids: samples that the model was shown since the last one, and in the end after the very
    last one. weights: before it."""

    ids: list[int]
    weights: list[float | None]


class Seen(Evidence):
    """One call. survived: whether a rank was to be killed in this run, and did not get there. begins: epoch, consumed
    and steps of the checkpoint that was there. losses: what was returned, or its type; of an entry that is no float,
    its type. asked: how many steps were made at each `agreed()`. saves: places, and how many were made."""

    survived: bool
    begins: tuple[int, int, int]
    losses: list[float | str | None] | str
    steps: list[Step]
    asked: list[int]
    saves: list[tuple[int, int, int]]


class DealtSampler(Sampler):
    """A ResumableSampler whose epochs' orders are known beforehand; at first, it is at the beginning of the first."""

    def __init__(self, orders: list[list[int]], rank: CallRank) -> None:
        self.orders, self.rank, self.size, self.place = orders, rank.rank, rank.size, (0, 0)

    def set_position(self, epoch: int, consumed: int) -> None:
        """Go to a place."""
        self.place = int(epoch), int(consumed)

    def share(self) -> list[int]:
        """This rank's samples from here."""
        epoch, consumed = self.place
        order = self.orders[epoch % len(self.orders)]
        rest = order[consumed:]
        return (rest + order[: -len(rest) % self.size])[self.rank :: self.size]

    def __iter__(self) -> Iterator[int]:
        return iter(self.share())

    def __len__(self) -> int:
        return len(self.share())


class Training:
    """What a call works with on this rank, and what it does: also its Preemption, and right functions that save and
    load, which keep what they keep in a form of their own.

    path: of the checkpoint. stop: after how many steps all are to leave, or None. kill: in which forward pass this rank
    is to die, or 0.
    """

    def __init__(self, rank: CallRank, path: str, stop: int | None, kill: int) -> None:
        self.rank, self.comm, self.stop, self.kill = rank, rank.notes["comm"], stop, kill
        self.shown: list[Step] = []
        self.steps, self.asked, self.saves = [], [], []
        self.begins = torch.load(path, weights_only=True)["place"] if os.path.isfile(path) else (0, 0, 0)
        self.loaded = 0  # steps that had been made when what is loaded was saved

    def forward(self, net: DroppingNet, ids: list[int]) -> None:
        """Note a forward pass, or die in it."""
        self.shown.append(Step(ids, net.row()))
        if len(self.steps) == self.kill - 1:
            Path(self.rank.folder, MARKER).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def step(self, *_: Any) -> None:
        """Note a step of the optimizer."""
        ids = [number for each in self.shown for number in each.ids]
        self.steps.append(Step(ids, self.shown[0].weights if self.shown else []))
        self.shown = []

    def agreed(self) -> bool:
        """Whether all ranks are to leave."""
        self.asked.append(len(self.steps))
        return self.stop is not None and len(self.steps) >= self.stop

    def save(self, path: str, model: Any, optimizer: Any, epoch: int, consumed: int) -> None:
        """Write everything, and note when."""
        self.saves.append((int(epoch), int(consumed), len(self.steps)))
        states = [optimizer.state[each] for each in model.module.parameters()]
        momentum = [state["momentum_buffer"].cpu() for state in states if "momentum_buffer" in state]
        place = [int(epoch), int(consumed), self.loaded + len(self.steps)]
        random = self.comm.allgather(torch.get_rng_state())
        if self.rank.rank == 0:
            keep(path, model.module, momentum, place, random)
        self.comm.Barrier()

    def load(self, path: str, model: Any, optimizer: Any) -> tuple[int, int]:
        """Put everything back."""
        if not os.path.isfile(path):
            return 0, 0
        kept = torch.load(path, map_location="cpu", weights_only=True)
        model.module.load_state_dict(kept["model"])
        for parameter, momentum in zip(model.module.parameters(), kept["momentum"], strict=False):
            optimizer.state[parameter]["momentum_buffer"] = momentum.to(parameter.device)
        torch.set_rng_state(kept["random"][self.rank.rank])
        epoch, consumed, self.loaded = kept["place"]
        return epoch, consumed

    def seen(self, survived: bool, value: Any) -> Seen:
        """All of it. survived: see `Seen`. value: what was returned."""
        for each in self.shown if self.steps else ():
            self.steps[-1].ids.extend(each.ids)
        losses: Any = type_in_words(value)
        if isinstance(value, (list, tuple)):
            losses = [float(each) if isinstance(each, float) else type_in_words(each) for each in value[:MOST]]
        return Seen(survived, tuple(self.begins), losses, self.steps[:MOST], self.asked[:MOST], self.saves[:MOST])


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
    return {name: lambda *given, to=to: to(rank.notes["training"], *given) for name, to in functions.items()}


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A call with a new model."""
    case, path = rank.notes["case"], rank.notes["path"]
    device, data = group_device(), NumberedSet(case["samples"], case["data"])
    new = 0 if rank.notes["first"] and rank.number == 0 else 1 + rank.number  # what is loaded has to be seen
    net = DroppingNet(case["model"] + new, case["dropout"]).to(device)
    model = DistributedDataParallel(net, device_ids=[device] if device.type == "cuda" else None)
    if not rank.on_gpu:  # where nothing but devices is judged; and a simulated one has no random numbers
        settled(model, data.inputs[:1])
    for each in net.parameters():
        each.grad = torch.full_like(each, LYING)
    optimizer = torch.optim.SGD(net.parameters(), case["lr"], momentum=0.9)
    dies = case.get("dies", False)
    kill = case["kill"][1] if dies and rank.rank == case["kill"][0] else 0
    training = rank.notes["training"] = Training(rank, path, call["stop"], kill)
    net.record = training.forward
    optimizer.register_step_post_hook(training.step)
    loader = DataLoader(data, case["batch"], sampler=DealtSampler(case["orders"], rank), generator=torch.Generator())
    torch.manual_seed(case["luck"][rank.rank] + new)
    rank.meet()
    return training.seen(
        dies, train(model, loader, optimizer, cross_entropy, call["epochs"], case["every"], path, training)
    )


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
