"""The record of a batch run: `run.json`, next to the notebook.

A cell reports what was trained::

    record("batch_run", world, history, samples=len(train_set), data=train_set.fingerprint)

`course.batch.run`, which runs the notebook, writes a `Record` of these reports as JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import socket
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from course.world import World

FORMAT = 1
FILE = "run.json"
REPORTS = "LOCKSTEP_REPORTS"  # set by `course.batch.run`: the file to which `record` adds its reports, one per line


class Place(TypedDict):
    """Where a rank ran. device: the GPU's name, or "CPU"."""

    node: str
    device: str


class Epoch(TypedDict):
    """One epoch of a training. loss, accuracy: None if not finite. accuracy, seconds: None if not reported."""

    epoch: int
    loss: float | None
    accuracy: float | None
    seconds: float | None


class Report(TypedDict):
    """One training, from one call of `record`.

    places: of each rank. samples: in an epoch. data: a fingerprint. throughput: samples per second over all epochs;
    None unless all report their seconds.
    """

    todo: str
    ranks: int
    places: list[Place]
    samples: int
    data: str
    epochs: list[Epoch]
    throughput: float | None


class Job(TypedDict):
    """A Slurm job. ranks: asked for. restarts: how often it was requeued."""

    id: str
    user: str
    cluster: str
    nodes: list[str]
    ranks: int
    restarts: int


class Cells(TypedDict):
    """What became of the notebook's cells. failed: ids, see `Record.errors`. not_run: ids, for lack of ranks."""

    run: int
    failed: list[str]
    not_run: list[str]


class Record(TypedDict):
    """What `run.json` holds.

    format: FORMAT. lab: name of the notebook, without .ipynb. state: "completed"; "failed" if a cell raised or the
    kernel died; "stopped" if the run was ended early. job: None outside Slurm. launcher: what started the ranks:
    "srun", "torchrun", or "mpiexec" outside Slurm. began, ended: seconds since 1970 (UTC). versions: by package. code:
    see `code_of`, of each cell that the student writes. errors: one text for each of the failed cells.
    """

    format: int
    lab: str
    state: str
    job: Job | None
    launcher: str
    began: float
    ended: float
    seconds: float
    versions: dict[str, str]
    code: dict[str, str]
    cells: Cells
    errors: list[str]
    runs: list[Report]


def record(todo: str, world: World, history: Sequence[dict], samples: int, data: str) -> None:
    """Put a training on record if the notebook runs in batch; else, where there is Slurm, say how to run it so.

    todo: the TODO whose function has trained. world: all its ranks took part. history: one dict for each epoch, with
    `epoch`, `loss`, and optionally `accuracy` and `seconds`. samples: seen by all ranks together in an epoch. data:
    their fingerprint.
    Raises ValueError if the history is not of this form.
    """
    path = os.environ.get(REPORTS)
    report = report_of(todo, [] if path is None else world.run(place), history, samples, data)
    if path is None:
        if shutil.which("sbatch"):
            print("To have a run on record, run this notebook in batch: `sbatch run.sh` in its folder.")
        return
    with open(path, "a") as file:
        file.write(json.dumps(report) + "\n")
    print("\n".join(summary(report)))


def report_of(todo: str, places: Sequence[Place], history: Sequence[dict], samples: int, data: str) -> Report:
    """The report of a training, from what `record` is given. places: of all ranks. Raises ValueError like `record`."""
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


def plain_epoch(entry: dict) -> Epoch:
    """An epoch of a history as plain data. Raises ValueError if it has no epoch or no loss."""
    if not isinstance(entry, dict) or not {"epoch", "loss"} <= set(entry):
        raise ValueError(f"each epoch of a history is a dict with `epoch` and `loss`, not {entry!r}")
    given = {key: float(entry[key]) if entry.get(key) is not None else None for key in Epoch.__annotations__}
    finite = {key: value if value is not None and math.isfinite(value) else None for key, value in given.items()}
    return finite | {"epoch": int(entry["epoch"])}


def place() -> Place:
    """Called on a rank: where it runs, and what it has computed with."""
    torch = sys.modules.get("torch")  # if it is not imported, it has not computed
    device = torch.cuda.get_device_name() if torch is not None and torch.cuda.is_initialized() else "CPU"
    return {"node": os.environ.get("SLURMD_NODENAME") or socket.gethostname(), "device": device}


def summary(report: Report) -> list[str]:
    """A report in words: one line for the ranks, one for each epoch, one for the throughput if it is known."""
    nodes, devices = (sorted({place[name] for place in report["places"]}) for name in ("node", "device"))
    lines = [f"{report['todo']}: {count_of(report['ranks'], 'process')} on {', '.join(nodes)} ({', '.join(devices)})"]
    for epoch in report["epochs"]:
        loss = "not finite" if epoch["loss"] is None else f"{epoch['loss']:.4f}"
        accuracy = "" if epoch["accuracy"] is None else f", accuracy {epoch['accuracy']:.1%}"
        seconds = "" if epoch["seconds"] is None else f", {epoch['seconds']:.2f} s"
        lines.append(f"{report['todo']}: epoch {epoch['epoch']}: loss {loss}{accuracy}{seconds}")
    if report["throughput"] is not None:
        lines.append(f"{report['todo']}: {report['throughput']:,.0f} samples/s")
    return lines


def count_of(count: int, noun: str) -> str:
    """`1 node`, `2 processes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def code_of(sources: dict[str, str]) -> dict[str, str]:
    """SHA-256 of each source, in UTF-8, by cell id. Spaces at both ends and kinds of line ends make no difference."""
    plain = {name: "\n".join(source.splitlines()).strip() for name, source in sources.items()}
    return {name: hashlib.sha256(source.encode(errors="replace")).hexdigest() for name, source in plain.items()}


def students_cells(cells: Iterable[dict]) -> dict[str, str]:
    """Source of the cells that nbgrader has marked as the student's code, by grade_id; no answers graded by hand."""
    tagged = ((cell.get("metadata", {}).get("nbgrader", {}), cell["source"]) for cell in cells)
    code = ((tag, source) for tag, source in tagged if tag.get("solution") and not tag.get("grade"))
    return {tag["grade_id"]: source for tag, source in code if tag.get("grade_id")}


def as_text(record: Record) -> str:
    """The content of `run.json`."""
    return json.dumps(record, indent=1, allow_nan=False) + "\n"
