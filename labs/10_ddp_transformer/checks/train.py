"""The check of `train`: what it is given, what it does on the ranks, and what becomes of it when a rank is killed."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from autograde.contract.calls import described, meet
from autograde.contract.rank_check import RankCheck
from autograde.contract.schema import array, described_value, integer, numbers, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import Pair, state_row
from autograde.fixtures.stepped import group_device
from autograde.probes.checkpoint_files import epoch_in
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.resumed import finding as of_training
from course.models.sentences import PAD, collate, loss_fn
from course.world import COMM
from course.world.report import name_ranks

from .training import runs_mistakes
from .training_plan import build, draw_training

NAME = "checkpoint.pt"
MARKER = "killed"  # a file that tells that a rank died where it was to

CALL = record(
    kind=string(),
    losses=optional(array(described_value(), most=500)),
    epochs=array(integer(), most=500),
    files=array(optional(integer()), most=501),
    weights=numbers(),
)


class Train(RankCheck, JudgedRun):
    """The right epochs in the right steps, a checkpoint after each, and on from there, also after a rank was killed."""

    todo, points, needs = "train", 4, "torch"
    consolidation = (
        "A resume needs little: the state, the number of the last finished epoch, and orders that follow from the "
        "epoch alone. One and the same call starts a training and goes on with it."
    )
    prices: ClassVar = {"nothing-written": 2}

    def cases(self, rng: random.Random) -> list[dict]:
        """Stopped and resumed in good order; and with a rank killed in the middle of an epoch, of whole steps only."""

        def case(ranks: list[int], epochs: list[int], kill: int | None, accumulate: int, even: bool = False) -> dict:
            batches = 2 * accumulate + (0 if even else rng.randint(1, accumulate - 1))
            training = draw_training(rng, len(ranks), batches=batches, accumulate=accumulate)
            about = {"ranks": ranks, "epochs": epochs, "kill": None if kill is None else {"rank": kill, "epoch": 1}}
            return {**about, "training": training, "fresh": 2**30 + rng.randrange(2**30)}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        cases = [case(some, [2, 4, 4], None, rng.choice([2, 3])), case(some[:2], [3], 1, rng.choice([2, 3]), even=True)]
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One run; or the same training three times: undisturbed, with a rank killed, and by ranks that know nothing.

        Gives the outcome of the last run that there was. A run in which just that rank died at its place is no failure,
        and does not count.
        """

        def attempt(folder: str, first: bool, kill: dict | None = None) -> dict:
            return self.on_ranks(world, case, train_each, subject, case, folder, first, kill, COMM)

        with TemporaryDirectory() as folder, TemporaryDirectory() as other:
            run, kill = attempt(folder, True), case["kill"]
            calls = [rank["result"] for rank in run["ranks"]]
            if not kill or run["state"] != "ok":
                return with_results(run, calls)
            run = attempt(other, True, kill)
            killed = run["ranks"][kill["rank"]]["code"] == -signal.SIGKILL and Path(other, MARKER).exists()
            if run["state"] != "rank-died" or not killed:
                return with_results(run, calls)
            kept = epoch_in(os.path.join(other, NAME))
            run = attempt(other, False)
            return with_results(run, calls, [rank["result"] for rank in run["ranks"]], kept)

    def shape(self, case: dict) -> dict:
        """For each call, the epochs, what was returned, and the weights; for a kill, also after it."""
        calls = array(CALL, len(case["epochs"]))
        return record(whole=calls, resumed=optional(calls), found=optional(integer()))

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """A run that hangs as rank 0 alone saves.

        The check's own `save_checkpoint` meets in a barrier; its meetings outside of the student's code have no line.
        """
        last = [rank["events"][-1] if rank["events"] else None for rank in run.ranks]
        saving = [event is not None and event["kind"] == "barrier" and event["line"] is not None for event in last]
        stuck = run.state == "hang" and saving[0] and last[0]["end"] is None and not any(saving[1:])
        others = name_ranks([*range(1, len(last))])
        return [of_training("save-on-rank-0", run.report, others=others)] if stuck else []

    def judge(self, case: dict, results: list[Any]) -> list[Finding | Diagnosis]:
        """Each call by itself."""
        return runs_mistakes(case, results)


def with_results(run: dict, whole: list, resumed: list | None = None, found: int | None = None) -> dict:
    """An outcome with these as what its ranks returned; None for a rank that did not return.

    whole, resumed: what each rank did undisturbed, and after the kill. found: the epoch of the checkpoint in between.
    """
    pairs = zip(run["ranks"], whole, resumed or [None] * len(whole), strict=True)
    results = [
        {"whole": first, "resumed": last, "found": found} if rank["state"] == "returned" and first is not None else None
        for rank, first, last in pairs
    ]
    return {**run, "ranks": [{**rank, "result": each} for rank, each in zip(run["ranks"], results, strict=True)]}


def train_each(subject: Any, case: dict, folder: str, first: bool, kill: dict | None, comm: Any) -> list[dict]:
    """Runs on each rank: the student's `train` with a new model each time, up to one number of epochs after another.

    first: whether the first model is the training's own. kill: the rank that is to die, and in which pass: between the
    first step of it and the second, so that whatever is saved after a step is there.
    """
    training, path, calls = case["training"], os.path.join(folder, NAME), []
    passes, files, made = [], [], []  # of one call; steps made in the last pass

    def begin(epoch: int) -> None:
        passes.append(int(epoch))
        files.append(epoch_in(path))
        made.clear()

    def at_step(*_: Any) -> None:
        if kill and comm.rank == kill["rank"] and len(passes) == kill["epoch"] + 1 and made:
            die_here(Path(folder, MARKER))

    def stepped(*_: Any) -> None:
        made.append(1)

    train = subject.salted(comm.rank).load(collate=collate, loss_fn=loss_fn, PAD=PAD, **stand_ins(comm, at_step))
    for number, epochs in enumerate(case["epochs"]):
        passes, files, made = [], [], []
        model, optimizer = build(training, training["seed"] if first and not number else case["fresh"], group_device())
        optimizer.register_step_post_hook(stepped)
        model.register_forward_pre_hook(at_step)  # for who makes steps without `train_step`
        model, loader = DistributedDataParallel(model), recording_loader(training, begin)
        meet(comm)
        value = train(model, loader, optimizer, loss_fn, epochs, training["accumulate"], path)
        files.append(epoch_in(path))
        meet(comm)
        losses = [described(each) for each in value] if isinstance(value, (list, tuple)) else None
        about = {"kind": type(value).__name__, "losses": losses, "epochs": passes, "files": files}
        calls.append({**about, "weights": state_row(model.module)})
    return calls


def stand_ins(comm: Any, at_step: Callable[[], None]) -> dict[str, Callable]:
    """Right `train_step`, `save_checkpoint` and `load_checkpoint`, in which every rank computes what all compute.

    at_step: called before a step begins, while the other ranks cannot make it by themselves.
    """
    steps, saves, loads = comm.Dup(), comm.Dup(), comm.Dup()

    def train_step(model: Any, micro_batches: Any, optimizer: Any, loss_fn: Any) -> float:
        at_step()
        device = next(model.parameters()).device
        everyones = [batch for batches in steps.allgather([*micro_batches]) for batch in batches]
        total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
        for src, tgt_in, tgt_out in everyones:
            total = total + loss_fn(model.module(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            tokens += int((tgt_out != PAD).sum())
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        for parameter, gradient in zip(trained, torch.autograd.grad(total / tokens, trained), strict=True):
            parameter.grad = gradient
        optimizer.step()
        return float(total / tokens)

    def save_checkpoint(path: str, model: Any, optimizer: Any, epoch: int) -> None:
        whole = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": int(epoch)}
        if comm.rank == 0:
            torch.save(whole, path)
        saves.Barrier()

    def load_checkpoint(path: str, model: Any, optimizer: Any, device: Any) -> int:
        if not all(loads.allgather(os.path.isfile(path))):
            return 0
        kept = torch.load(path, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, tensor in model.module.state_dict().items():
                tensor.copy_(kept["model"][name])
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for number, entry in kept["optimizer"]["state"].items():
            momentum = {name: value.to(device) for name, value in entry.items() if torch.is_tensor(value)}
            optimizer.state[parameters[number]].update(momentum)
        return loads.allgather(kept["epoch"] + 1)[0]  # no rank may write it anew while another one still reads

    return {"train_step": train_step, "save_checkpoint": save_checkpoint, "load_checkpoint": load_checkpoint}


class RecordingSampler(DistributedSampler):
    """Calls `begin(epoch)` whenever a pass begins, with the epoch that it was told last."""

    def __init__(self, pairs: Sequence[Pair], seed: int, begin: Callable[[int], None]) -> None:
        super().__init__(pairs, shuffle=True, seed=seed)
        self.begin = begin

    def __iter__(self) -> Iterator[int]:
        self.begin(self.epoch)
        return super().__iter__()


def recording_loader(training: dict, begin: Callable[[int], None]) -> DataLoader:
    """This rank's loader. begin: see `RecordingSampler`."""
    sampler = RecordingSampler(training["pairs"], training["order"], begin)
    return DataLoader(training["pairs"], batch_size=2, sampler=sampler, collate_fn=collate)


def die_here(marker: Path) -> None:
    """End this process as `kill -9` does; `marker` then tells that it happened here."""
    marker.touch()
    os.kill(os.getpid(), signal.SIGKILL)


CHECK = Train()
