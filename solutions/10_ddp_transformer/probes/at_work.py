"""What `train` works with in its check: a loader that tells when a pass begins, and functions that step, save and load.
They are right, and no model for an answer: each rank computes what all do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DistributedSampler

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Evidence
from autograde.fixtures.awkward_translator import AwkwardTranslator, number_of, state_row
from autograde.probes.checkpoint_files import epoch_in, read_checkpoint, state_of
from autograde.probes.killed_run import die_here
from course.models.translator.sentences import PAD

from ..shared.model import GIVEN, trained


class Saved(Evidence):
    """A checkpoint. epoch: in it; None where there is no file, -1 where none can be read. other: of "model" and
    "optimizer", what is not in it as it is on this rank."""

    epoch: int | None
    other: list[str]


class NotedSampler(DistributedSampler):
    """Tells a training when a pass begins."""

    training: Training

    def __iter__(self) -> Iterator[int]:
        self.training.begin(self.epoch)
        return super().__iter__()


class Training:
    """What happens in a call on this rank. kill: in which pass it is to die, before the second step; 0: in none."""

    def __init__(self, rank: CallRank, model: AwkwardTranslator, optimizer: Any, kill: int) -> None:
        self.rank, self.model, self.optimizer, self.kill = rank, model, optimizer, kill
        self.path = rank.notes["path"]
        self.begins = epoch_in(self.path)
        self.found = read_checkpoint(self.path)["content"] or state_of(model, optimizer)
        self.other: list[str] = []  # this and the next two: before the first step
        self.weights: list[float] = []
        self.momentum: list[float] = []
        self.begun: list[int] = []  # the epoch of a pass of which no micro-batch has been used yet
        self.told: list[int] = []
        self.saved: list[Saved] = []
        self.shown: list[list[int | None]] = []  # since the last step
        self.steps: list[list[list[int | None]]] = []
        self.made = 0  # steps in this pass
        optimizer.register_step_post_hook(self.step)

    def begin(self, epoch: int) -> None:
        """Note that a pass over the loader begins."""
        self.begun = [int(epoch)]

    def file(self) -> Saved:
        """The checkpoint now."""
        return Saved(epoch_in(self.path), self.unlike(read_checkpoint(self.path)["content"]))

    def unlike(self, content: Any) -> list[str]:
        """What a content does not have as it is now; names of weights do not matter."""
        now, kept = state_of(self.model, self.optimizer), content if isinstance(content, dict) else {}
        weights = [*kept["model"].values()] if isinstance(kept.get("model"), dict) else None
        alike = {"model": weights == [*now["model"].values()], "optimizer": kept.get("optimizer") == now["optimizer"]}
        return [name for name, same in alike.items() if not same]

    def show(self, source: torch.Tensor) -> None:
        """Note a micro-batch, or die."""
        if self.begun and not self.told:
            self.other, self.weights = self.unlike(self.found), state_row(self.model)
            moving = [(each, self.optimizer.state[each].get("momentum_buffer")) for each in trained(self.model)]
            rows = [(torch.zeros_like(each) if own is None else own).flatten() for each, own in moving]
            self.momentum = torch.cat(rows).tolist()
        for epoch in self.begun:
            self.saved += [self.file()] if self.told else []
            self.told.append(epoch)
            self.made = 0
        self.begun = []
        if len(self.told) == self.kill and self.made:
            die_here(self.rank.folder)
        self.shown.append([number_of(row, self.rank.notes["pairs"]) for row in source.tolist()])

    def step(self, *_: Any) -> None:
        """Note a step of the optimizer."""
        self.steps.append(self.shown)
        self.shown = []
        self.made += 1


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """What the lab gives, and functions that step, save and load."""
    steps, saves, loads = (rank.comm.Dup() for _ in range(3))
    path = os.path.join(rank.folder, "checkpoint.pt")
    rank.notes |= {"case": case, "pairs": case["pairs"], "path": path, "new": not os.path.exists(path)}

    def train_step(model: Any, micro_batches: Any, optimizer: Any, loss_fn: Any) -> float:
        own, device = [*micro_batches], next(model.parameters()).device
        for source, _, _ in own:
            rank.notes["training"].show(source)
        total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
        for src, tgt_in, tgt_out in (batch for batches in steps.allgather(own) for batch in batches):
            logits = model.module.forward(src.to(device), tgt_in.to(device))  # which calls no hook
            total = total + loss_fn(logits, tgt_out.to(device))
            tokens += torch.count_nonzero(tgt_out != PAD).item()
        row = torch.autograd.grad(total / tokens, trained(model))
        for each, own_part in zip(trained(model), row, strict=True):
            each.grad = own_part
        optimizer.step()
        return float(total / tokens)

    def save_checkpoint(path: str, model: Any, optimizer: Any, epoch: int) -> None:
        whole = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": int(epoch)}
        if rank.rank == 0:
            torch.save(whole, path)
        saves.Barrier()

    def load_checkpoint(path: str, model: Any, optimizer: Any, device: Any) -> int:
        if not all(loads.allgather(os.path.isfile(path))):
            return 0
        kept, own = torch.load(path, map_location="cpu", weights_only=True), trained(model)
        with torch.no_grad():
            for name, tensor in model.module.state_dict().items():
                tensor.copy_(kept["model"][name])
        for number, entry in kept["optimizer"]["state"].items():
            moving = {name: each.to(device) for name, each in entry.items() if torch.is_tensor(each)}
            optimizer.state[own[number]].update(moving)
        return loads.allgather(kept["epoch"] + 1)[0]  # no rank may write it anew while another one still reads

    functions = {"train_step": train_step, "save_checkpoint": save_checkpoint, "load_checkpoint": load_checkpoint}
    return {**GIVEN, **functions}
