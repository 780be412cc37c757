"""The check of `train`: what it is given, and what it does on the ranks, some of which are killed."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler

from autograde.contract.calls import described, meet
from autograde.contract.rank_check import RankCheck
from autograde.contract.schema import array, described_value, integer, numbers, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import NumberedSet
from autograde.fixtures.stepped import group_device
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.resumed import finding as of_training
from course.models.settled import settled
from course.world import COMM

from .common import LYING, DroppingNet, generator_after, momentum_before
from .training import training_mistakes

NAME = "checkpoint.pt"
MARKER = "killed"  # a file that tells that a rank died where it was to
PLACE = array(integer(), 2)
CALL = record(
    kind=string(),
    losses=optional(array(described_value(), most=200)),
    passes=array(PLACE, most=200),
    forwards=array(record(ids=array(integer(), most=50), weights=numbers()), most=200),
    steps=integer(0),
    asked=array(integer(0), most=400),
    saves=array(array(integer(), 3), most=400),
    weights=numbers(),
)
NOWHERE = [-1, -1]  # the place of a sampler that has not been told one


class Train(RankCheck, JudgedRun):
    """Undisturbed, killed and stopped; gone on from a place of another number of ranks; the same path each time.

    A case has `calls`: up to which epoch, and after how many steps all ranks are to leave, or None; `begin`: the place
    of a checkpoint that is there before, or None; `kill`: [rank, step in which it dies, ranks that go on], or None.
    """

    todo, points, needs, deadline = "train", 5, "torch", 12
    consolidation = (
        "One call starts a training and goes on with it, because all that it depends on is in the checkpoint or "
        "follows from it. What a failure costs are the steps since the last one."
    )

    prices = MappingProxyType({"save-on-rank-0": 5, "sampler-not-told": 5, "not-resumed": 3, "epochs-counted-anew": 2})

    def cases(self, rng: random.Random) -> list[dict]:
        """Undisturbed, and stopped twice; killed; begun by four ranks, and gone on with three."""

        def case(ranks: list[int], own: int, batch: int, epochs: int, every: int, pad: int = 0, **more: Any) -> dict:
            samples = len(ranks) * own - pad
            orders = [rng.sample(range(samples), samples) for _ in range(2 * epochs + 1)]
            about = {"ranks": ranks, "batch": batch, "every": every, "samples": samples, "orders": orders}
            about |= {"data": rng.randrange(2**31), "model": rng.randrange(2**30), "lr": rng.uniform(0.1, 0.2)}
            about |= {"luck": [rng.randrange(2**31) for _ in ranks], "dropout": 0.3, "begin": None, "kill": None}
            return {**about, "calls": [[epochs, None]], **more}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        stops = [[3, 5], [3, 2], [3, None], [3, None]]
        cases = [case(some, 7, 2, 2, 3, 1), case(some[:2], 8, 2, 3, 3, calls=stops)]
        kill = [rng.randrange(4), rng.choice([6, 7]), [2, 3, 1, 0]]
        cases += [case([0, 1, 2, 3], 8, 2, 2, 5, kill=kill)]
        cases += [case(some, 12, 4, 2, 2, begin=[0, 12 * rng.choice([1, 2])])]
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One run; or one in which a rank is killed, and another one, by other ranks, which goes on.

        Gives the outcome of the last run that there was. A run in which just that rank died at its place does not
        count.
        """
        with TemporaryDirectory() as folder:
            if not case["kill"]:
                return self.on_ranks(world, case, train_each, subject, case, folder, False, COMM)
            run = self.on_ranks(world, case, train_each, subject, case, folder, True, COMM)
            killed = run["ranks"][case["kill"][0]]["code"] == -signal.SIGKILL and Path(folder, MARKER).exists()
            if run["state"] != "rank-died" or not killed:
                return run
            others = {**case, "ranks": case["kill"][2]}
            return self.on_ranks(world, others, train_each, subject, case, folder, False, COMM)

    def gpu_case(self, rng: random.Random) -> dict | None:
        """One step on two ranks."""
        about = {"ranks": [0, 1], "batch": 2, "every": 1, "samples": 4, "orders": [[0, 1, 2, 3]] * 3, "data": 1}
        about |= {"model": rng.randrange(2**30), "lr": 0.1, "luck": [1, 2], "dropout": 0.0, "begin": None}
        return {**about, "kill": None, "calls": [[1, None]]}

    def shape(self, case: dict) -> dict:
        """For each call, what it did."""
        return array(CALL, len(case["calls"]))

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """A run that does not end as rank 0 alone saves.

        The check's own `save_checkpoint` communicates by mpi4py, from a line of the student's; nothing else does.
        """
        last = [rank["events"][-1] if rank["events"] else None for rank in run.ranks]
        saving = [event is not None and event["library"] == "mpi4py" and event["line"] is not None for event in last]
        waits = run.state in ("hang", "too-slow") and saving[0] and last[0]["end"] is None
        return [of_training("save-on-rank-0", run.report)] if waits and not all(saving) else []

    def judge(self, case: dict, results: list[Any]) -> list[Finding | Diagnosis]:
        """Each call by itself."""
        return training_mistakes(case, results)


def train_each(subject: Any, case: dict, folder: str, dies: bool, comm: Any) -> list[dict]:
    """Runs on each rank: the student's `train`, with a new model in each call. dies: whether a rank is to be killed."""
    path, device, calls = os.path.join(folder, NAME), group_device(), []
    keeper = Keeper(comm)
    train = subject.salted(comm.rank).load(save_checkpoint=keeper.save, load_checkpoint=keeper.load)
    ids = [device] if device.type == "cuda" else None
    data = NumberedSet(case["samples"], case["data"])
    if case["begin"] and comm.rank == 0:
        net = DroppingNet(case["model"], case["dropout"])
        kept = {"model": net.state_dict(), "momentum": momentum_before(net, case["data"]), "place": case["begin"]}
        torch.save({**kept, "random": [generator_after([luck, 0]).get_state() for luck in case["luck"]]}, path)
    first = not os.path.exists(path)
    meet(comm)
    for number, (epochs, stop) in enumerate(case["calls"]):
        known = first and number == 0
        net = DroppingNet(case["model"] if known else case["model"] + 1 + number, case["dropout"]).to(device)
        model = settled(DistributedDataParallel(net, device_ids=ids), data.inputs[:1])
        for each in net.parameters():
            each.grad = torch.full_like(each, LYING)
        optimizer = torch.optim.SGD(net.parameters(), case["lr"], momentum=0.9)
        seen = Seen(net, optimizer, stop, case["kill"] if dies and comm.rank == case["kill"][0] else None, folder)
        sampler = DealtSampler(case, comm.rank, seen)
        loader = DataLoader(data, case["batch"], sampler=sampler, generator=torch.Generator())
        keeper.seen = seen
        torch.manual_seed(case["luck"][comm.rank] + (0 if known else 77 + number))
        meet(comm)
        value = train(model, loader, optimizer, cross_entropy, epochs, case["every"], path, seen)
        meet(comm)
        losses = [described(each) for each in value[:200]] if isinstance(value, (list, tuple)) else None
        calls.append({"kind": type(value).__name__, "losses": losses, **seen.plain()})
    return calls


class Seen:
    """What `train` does in one call, on this rank; also the Preemption that it asks.

    stop: after how many steps all are to leave. kill: as in a case, on the rank that is to die.
    """

    def __init__(self, net: DroppingNet, optimizer: Any, stop: int | None, kill: list | None, folder: str) -> None:
        self.net, self.stop, self.kill, self.folder = net, stop, kill, folder
        self.forwards, self.passes, self.asked, self.saves, self.steps = [], [], [], [], 0
        net.record = self.forward
        optimizer.register_step_post_hook(lambda *_: self.step())

    def forward(self, net: DroppingNet, ids: list[int]) -> None:
        """Note a forward pass, or die in it."""
        self.forwards.append({"ids": ids, "weights": net.row()})
        if self.kill and len(self.forwards) == self.kill[1]:
            Path(self.folder, MARKER).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def step(self) -> None:
        """Note a step of the optimizer."""
        self.steps += 1

    def agreed(self) -> bool:
        """Whether all ranks are to leave."""
        self.asked.append(self.steps)
        return self.stop is not None and self.steps >= self.stop

    def plain(self) -> dict:
        """As plain JSON."""
        about = {"passes": self.passes[:200], "forwards": self.forwards[:200], "asked": self.asked[:400]}
        return {**about, "saves": self.saves[:400], "steps": self.steps, "weights": self.net.row()}


class DealtSampler(Sampler):
    """A ResumableSampler whose shares are known beforehand; from a place that is not among them, the epoch's."""

    def __init__(self, case: dict, rank: int, seen: Seen) -> None:
        self.case, self.rank, self.seen, self.place = case, rank, seen, NOWHERE

    def set_position(self, epoch: int, consumed: int) -> None:
        """Note the place."""
        self.place = [int(epoch), int(consumed)]

    def share(self) -> list[int]:
        """This rank's samples from here."""
        epoch, consumed = self.place if self.place[0] >= 0 else [0, 0]
        order, size = self.case["orders"][epoch % len(self.case["orders"])], len(self.case["ranks"])
        rest = order[consumed:]
        return (rest + order[: -len(rest) % size])[self.rank :: size]

    def __iter__(self) -> Any:
        self.seen.passes.append(self.place)
        return iter(self.share())

    def __len__(self) -> int:
        return len(self.share())


class Keeper:
    """Right `save_checkpoint` and `load_checkpoint`, which keep what they keep in a form of the check's own."""

    def __init__(self, comm: Any) -> None:
        self.rank, self.saves, self.seen = comm.rank, comm.Dup(), None

    def save(self, path: str, model: Any, optimizer: Any, epoch: int, consumed: int) -> None:
        """Write everything, and note when."""
        self.seen.saves.append([int(epoch), int(consumed), self.seen.steps])
        states = [optimizer.state[each] for group in optimizer.param_groups for each in group["params"]]
        momentum = [state["momentum_buffer"].cpu() for state in states if "momentum_buffer" in state]
        kept = {"model": model.module.state_dict(), "momentum": momentum, "place": [int(epoch), int(consumed)]}
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
        return tuple(kept["place"])


CHECK = Train()
