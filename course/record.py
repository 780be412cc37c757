"""What a run in batch leaves on record: `run.json`, beside the notebook.

A cell tells what was trained::

    record("batch_run", world, history, samples=len(train_set), data=train_set.fingerprint)

`course.batch`, which runs the notebook, makes of it an object with just these names:

    format    1: this form
    lab       name of the notebook, without .ipynb
    state     "completed"; "failed": a cell raised, or the kernel died; "stopped": it was ended before its end
    job       null outside of Slurm, or {id, user, cluster, nodes: [name], ranks: asked for, restarts: times requeued}
    launcher  what started the ranks: "srun", "torchrun", or "mpiexec" outside of Slurm
    began, ended, seconds      the first two in seconds since 1970 (UTC)
    versions  {package: version} of what computed
    code      {cell id: SHA-256 of the source} of each cell that the student writes, as `code_of` gives it
    cells     {run, failed: [cell id], not_run: [cell id]}, the last for want of ranks
    errors    one text for each of `failed`
    runs      for each call of `record`: {todo, ranks, places: [{node, device}] of each rank, samples: in an epoch,
              data: a fingerprint, epochs: [{epoch, loss, accuracy, seconds}],
              throughput: samples per second, over all epochs}

A loss or an accuracy is null where it is not finite; accuracy and seconds, and so throughput, also where they were not
told.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import socket
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from course.world import World

FORMAT = 1
FILE = "run.json"
REPORTS = "LOCKSTEP_REPORTS"  # set by `course.batch`: the file in which `record` leaves its reports, one a line
KEYS = ("epoch", "loss", "accuracy", "seconds")


def record(todo: str, world: World, history: Sequence[dict], samples: int, data: str) -> None:
    """Put a training on record, if the notebook is run in batch; else say how that is done.

    todo: whose function has trained. world: on all ranks of which it ran. history: one dict for each epoch, with
    `epoch`, `loss`, and perhaps `accuracy` and `seconds`. samples: that all ranks together saw in an epoch. data: their
    fingerprint.
    Raises ValueError for another history.
    """
    path = os.environ.get(REPORTS)
    report = report_of(todo, [] if path is None else world.run(place), history, samples, data)
    if path is None:
        print("To have a run on record, run this notebook in batch: `sbatch run.sh` in its folder.")
        return
    with open(path, "a") as file:
        file.write(json.dumps(report) + "\n")
    print("\n".join(told(report)))


def report_of(todo: str, places: Sequence[dict], history: Sequence[dict], samples: int, data: str) -> dict:
    """A training as an entry of `runs`. places: of all ranks. Raises ValueError for another history."""
    epochs = [plain_epoch(entry) for entry in history]
    seconds = [epoch["seconds"] for epoch in epochs]
    timed = bool(seconds) and None not in seconds and sum(seconds) > 0
    return {
        "todo": todo,
        "ranks": len(places),
        "places": list(places),
        "samples": int(samples),
        "data": str(data),
        "epochs": epochs,
        "throughput": samples * len(epochs) / sum(seconds) if timed else None,
    }


def plain_epoch(entry: dict) -> dict:
    """An epoch of a history as plain data. Raises ValueError where it tells no epoch or no loss."""
    if not isinstance(entry, dict) or not {"epoch", "loss"} <= set(entry):
        raise ValueError(f"each epoch of a history is a dict with `epoch` and `loss`, not {entry!r}")
    told = {key: float(entry[key]) if entry.get(key) is not None else None for key in KEYS}
    finite = {key: number if number is not None and math.isfinite(number) else None for key, number in told.items()}
    return finite | {"epoch": int(entry["epoch"])}


def place() -> dict[str, str]:
    """On a rank: the node that it is on, and what it has computed with."""
    torch = sys.modules.get("torch")  # what nobody has imported did not compute
    device = torch.cuda.get_device_name() if torch is not None and torch.cuda.is_initialized() else "CPU"
    return {"node": os.environ.get("SLURMD_NODENAME") or socket.gethostname(), "device": device}


def told(report: dict) -> list[str]:
    """One line for the ranks of a recorded training, and one for each epoch."""
    nodes, devices = (sorted({place[name] for place in report["places"]}) for name in ("node", "device"))
    lines = [f"{report['todo']}: {number(report['ranks'], 'process')} on {', '.join(nodes)} ({', '.join(devices)})"]
    for epoch in report["epochs"]:
        loss = "not finite" if epoch["loss"] is None else f"{epoch['loss']:.4f}"
        accuracy = "" if epoch["accuracy"] is None else f", accuracy {epoch['accuracy']:.1%}"
        seconds = "" if epoch["seconds"] is None else f", {epoch['seconds']:.2f} s"
        lines.append(f"{report['todo']}: epoch {epoch['epoch']}: loss {loss}{accuracy}{seconds}")
    if report["throughput"] is not None:
        lines.append(f"{report['todo']}: {report['throughput']:,.0f} samples/s")
    return lines


def number(count: int, noun: str) -> str:
    """`1 node`, `2 processes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def code_of(sources: dict[str, str]) -> dict[str, str]:
    """SHA-256 of each source, in UTF-8, by cell id. Space at the ends does not count, nor how lines end."""
    plain = {name: "\n".join(source.splitlines()).strip() for name, source in sources.items()}
    return {name: hashlib.sha256(source.encode(errors="replace")).hexdigest() for name, source in plain.items()}


def students_cells(cells: Iterable[dict]) -> dict[str, str]:
    """Source by grade_id, of the cells of a notebook that nbgrader has marked as the student's own to write."""
    tagged = ((cell.get("metadata", {}).get("nbgrader", {}), cell["source"]) for cell in cells)
    return {tag["grade_id"]: source for tag, source in tagged if tag.get("solution") and tag.get("grade_id")}


def as_text(made: dict[str, Any]) -> str:
    """A record as it is written."""
    return json.dumps(made, indent=1, allow_nan=False) + "\n"
