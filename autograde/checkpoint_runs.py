"""What probes of starting, saving and loading run on the ranks. Each gets a case as plain JSON and gives plain JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from autograde.probes import meet
from autograde.subject import describe
from course.checkpointed import as_plain, fingerprint, group_device, read_checkpoint, trained, wrapped, write_as_a_gpu
from course.played_node import played_node
from course.watched_folder import half_a_file, watched_folder

SLOW = 0.04  # seconds that each change of a file takes on rank 0, so that ranks which do not wait are seen
NAME = "checkpoint.pt"


def start_group(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's `setup` on a played node; then all ranks tell each other their numbers."""
    local = [(rank, ranks) for ranks in case["nodes"] for rank in range(ranks)]
    with played_node(*local[comm.rank], case["gpus"]) as seen:
        device = subject.load()()
    meet(comm)
    is_device = isinstance(device, torch.device)
    named = {"type": device.type, "index": device.index} if is_device else None
    return {"kind": type(device).__name__, "device": named, "group": numbers_in_group(comm), **seen}


def numbers_in_group(comm: Any) -> list[int] | None:
    """Numbers in the run, by the number in the process group; None where not all ranks are in a group."""
    if not all(comm.allgather(dist.is_initialized())) or len(set(comm.allgather(dist.get_world_size()))) > 1:
        return None
    everyone = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor([comm.rank]))
    return [int(number) for number in everyone]


def save_twice(subject: Any, case: dict, comm: Any, folder: str) -> list[dict]:
    """Runs on each rank: the student's `save_checkpoint`, then once more after a crash in the middle of writing."""
    save, path, calls, known = subject.load(), os.path.join(folder, NAME), [], set()
    os.environ["LOCAL_RANK"] = str(case["local"][comm.rank])
    if comm.rank == 0 and case["old"] is not None:
        torch.save({"model": {}, "optimizer": {}, "epoch": case["old"]}, path)
    for number, epoch in enumerate(case["epochs"]):
        model, optimizer = trained(case["seed"] + number, case["optimizer"])
        model = wrapped(model)
        if comm.rank == 0:
            for name in known:
                half_a_file(Path(folder, name))
        before = fingerprint(path)
        meet(comm)
        with watched_folder(path, fingerprint, SLOW if comm.rank == 0 else 0.0) as seen:
            save(path, model, optimizer, epoch)
            returned = fingerprint(path)
        meet(comm)
        files = {"before": before, "returned": returned, "after": fingerprint(path)}
        left = sorted(set(os.listdir(folder)) - {NAME})
        calls.append({**seen, **files, "left": left, "content": read_checkpoint(path) if comm.rank == 0 else None})
        known = set() if left else {name for moment in seen["moments"] for name in moment["others"]}
        meet(comm)
    return calls


def load_each(subject: Any, case: dict, comm: Any, folder: str) -> list[dict]:
    """Runs on each rank: the student's `load_checkpoint` for each kind of file, into a model of its own."""
    load, calls = subject.load(), []
    for number, kind in enumerate(case["files"]):
        path = os.path.join(folder, f"{number}.pt")
        if comm.rank == 0:
            write_file(path, case, kind)
        model, optimizer = trained(case["fresh"] + number, case["optimizer"], steps=0)
        model = wrapped(model)
        meet(comm)
        value = error = None
        try:
            value = load(path, model, optimizer, group_device())
        except NotImplementedError:
            raise
        except Exception as raised:
            error = describe(raised, subject.filename).replace(f"{folder}{os.sep}", "")
        state = {"model": as_plain(model.module.state_dict()), "optimizer": as_plain(optimizer.state_dict())}
        calls.append({"value": as_plain(value), "error": error, **state})
        meet(comm)
    return calls


def write_file(path: str, case: dict, kind: str) -> None:
    """A checkpoint of one kind: "none", "good", or one that does not fit, see `autograde.saved_state`."""
    model, optimizer = trained(case["seed"], case["optimizer"])
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": case["epoch"]}
    if kind == "missing":
        del state["model"]["submodule.bias"]
    elif kind == "unexpected":
        state["model"]["another.weight"] = torch.ones(2)
    elif kind == "renamed":
        state["model"] = {f"encoder.{name}": value for name, value in state["model"].items()}
    elif kind.startswith("without-"):
        del state[kind.removeprefix("without-")]
    if kind == "half":
        half_a_file(Path(path))
    elif kind != "none":
        write_as_a_gpu(state, path)
