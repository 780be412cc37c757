"""What the probe of a whole training runs on the ranks: the student's `train`, with right functions to call."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from autograde.checkpoint_runs import NAME
from autograde.probes import described, meet
from course.awkward_translator import state_row
from course.checkpointed import epoch_in, group_device, wrapped
from course.epoch_runs import build, die_here, noted_loader
from course.sentences import PAD, collate, loss_fn

MARKER = "killed"  # a file that tells that a rank died where it was to


def stand_ins(comm: Any, training: dict) -> dict:
    """Correct `train_step`, `save_checkpoint` and `load_checkpoint`, in which every rank computes what all compute."""
    steps, saves, loads = comm.Dup(), comm.Dup(), comm.Dup()

    def train_step(model: Any, micro_batches: Any, optimizer: Any, loss_fn: Any) -> float:
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


def train_each(subject: Any, case: dict, comm: Any, folder: str, kill: dict | None = None) -> list[dict]:
    """Runs on each rank: the student's `train` with a new model each time, up to one number of epochs after another.

    kill: the rank that is to die, in which pass and at which micro-batch of it.
    """
    training, path, calls = case["training"], os.path.join(folder, NAME), []
    train = subject.load(collate=collate, loss_fn=loss_fn, PAD=PAD, **stand_ins(comm, training))
    for number, epochs in enumerate(case["epochs"]):
        passes, files, drawn = [], [], []

        def begin(epoch: int, passes: list = passes, files: list = files, drawn: list = drawn) -> None:
            passes.append(int(epoch))
            files.append(epoch_in(path))
            drawn.clear()

        def draw(passes: list = passes, drawn: list = drawn) -> None:
            drawn.append(1)
            if kill and comm.rank == kill["rank"] and len(passes) == kill["epoch"] + 1 and len(drawn) == kill["batch"]:
                die_here(Path(folder, MARKER))

        seed = training["seed"] if case["first"] and not number else case["fresh"]
        model, optimizer = build(training, seed, group_device())
        model, loader = wrapped(model), noted_loader(training, begin, draw)
        meet(comm)
        value = train(model, loader, optimizer, loss_fn, epochs, training["accumulate"], path)
        files.append(epoch_in(path))
        meet(comm)
        losses = [described(each) for each in value] if isinstance(value, (list, tuple)) else None
        about = {"kind": type(value).__name__, "losses": losses, "epochs": passes, "files": files}
        calls.append({**about, "weights": state_row(model.module)})
    return calls


def killed_and_resumed(attempt: Callable[..., dict], kill: dict | None) -> dict:
    """Evidence of one training: undisturbed, with a rank killed, and resumed after that by ranks that know nothing.

    attempt: called with a folder, whether the model is the training's own, and perhaps `kill`; gives an outcome.
    Gives the outcome of the last run that there was, with what each rank did in the first and the last one, and the
    epoch of the checkpoint that was found between them. A run in which just that rank died at its place is no failure,
    and does not count.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        whole = attempt(folder, True)
        calls = [rank["result"] for rank in whole["ranks"]]
        if not kill or whole["state"] != "ok":
            return with_results(whole, [None] * len(calls), calls)
        first = attempt(other, True, kill)
        killed = first["ranks"][kill["rank"]]["code"] == -signal.SIGKILL and Path(other, MARKER).exists()
        if first["state"] != "rank-died" or not killed:
            return with_results(first, [None] * len(calls), calls)
        found = epoch_in(os.path.join(other, NAME))
        resumed = attempt(other, False)
        return with_results(resumed, [rank["result"] for rank in resumed["ranks"]], calls, found)


def with_results(run: dict, resumed: list, whole: list, found: int | None = None) -> dict:
    """An outcome with these as what its ranks returned; None for a rank that did not return."""
    results = [
        {"whole": first, "resumed": last, "found": found} if rank["state"] == "returned" and first is not None else None
        for rank, first, last in zip(run["ranks"], whole, resumed, strict=True)
    ]
    ranks = [{**rank, "result": result} for rank, result in zip(run["ranks"], results, strict=True)]
    return {**run, "ranks": ranks}
