"""What Horovod did with each gradient, from the trace that it writes if HOROVOD_TIMELINE is set.

Rank 0 writes it, in Chrome's trace format: https://horovod.readthedocs.io/en/stable/timeline.html
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

# Our names of what Horovod does with a tensor, by Horovod's own.
PHASES = {
    "NEGOTIATE_ALLREDUCE": "negotiate",
    "MEMCPY_IN_FUSION_BUFFER": "copy together",
    "MPI_ALLREDUCE": "all-reduce",
    "NCCL_ALLREDUCE": "all-reduce",
    "GLOO_ALLREDUCE": "all-reduce",
    "MEMCPY_OUT_FUSION_BUFFER": "copy apart",
}


class Phase(TypedDict):
    """One thing that Horovod did with a gradient.

    tensor: the parameter's name. phase: one of the values of PHASES. start, end: seconds since the first phase began.
    ranks: by rank, when it announced that its gradient is ready, as far as the trace tells.
    """

    tensor: str
    phase: str
    start: float
    end: float
    ranks: dict[int, float]


@contextmanager
def traceable(fusion: bool = True) -> Iterator[None]:
    """Let a Horovod that is initialised in this block start a trace (`hvd.start_timeline`) that tells who is late.

    fusion: whether Horovod reduces gradients together.
    """
    names = {
        "HOROVOD_TIMELINE": "DYNAMIC",
        "HOROVOD_CACHE_CAPACITY": "0",  # with a cache, ranks negotiate less, and the trace tells less
        "HOROVOD_FUSION_THRESHOLD": str(2**26 if fusion else 0),
    }
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def read_trace(path: Path | str) -> list[Phase]:
    """What happened to each gradient, in order of time, without other tensors and without phases that did not end.

    Raises ValueError if the file is not such a trace.
    """
    text = Path(path).read_text().rstrip().rstrip(",")
    events = json.loads(text if text.endswith("]") else text + "]")  # Horovod may not have closed it
    names: dict[int, str] = {}
    begun: dict[int, list[dict]] = defaultdict(list)
    entries = []
    for event in events:
        pid = event.get("pid")  # Horovod numbers tensors by it
        if event.get("name") == "process_name":
            names[pid] = event["args"].get("name", "")
        elif event["ph"] == "B":
            begun[pid].append({"name": event["name"], "start": event["ts"], "ranks": {}})
        elif event["ph"] == "X" and begun[pid]:
            begun[pid][-1]["ranks"][int(event["name"])] = event["ts"]
        elif event["ph"] == "E" and begun[pid]:
            entry = begun[pid].pop()
            tensor, phase = names[pid].removeprefix("allreduce."), PHASES.get(entry.pop("name"))
            if phase and tensor != names[pid] and not tensor.startswith("noname"):
                entries.append({"tensor": tensor, "phase": phase, **entry, "end": event["ts"]})
    zero = min((entry["start"] for entry in entries), default=0)
    for entry in entries:
        entry["start"], entry["end"] = (entry["start"] - zero) / 1e6, (entry["end"] - zero) / 1e6
        entry["ranks"] = {rank: (time - zero) / 1e6 for rank, time in entry["ranks"].items()}
    return sorted(entries, key=lambda entry: entry["start"])


def fused(entries: Sequence[Phase]) -> list[list[str]]:
    """The tensors of each of Horovod's all-reduces, in order of time. All-reduces that overlap are one."""
    groups: list[list[str]] = []
    until = -1.0
    for entry in entries:
        if entry["phase"] == "all-reduce":
            if entry["start"] < until:
                groups[-1].append(entry["tensor"])
            else:
                groups.append([entry["tensor"]])
            until = max(until, entry["end"])
    return groups
