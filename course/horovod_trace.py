"""What Horovod did with each gradient, from the trace that it writes where HOROVOD_TIMELINE is set.

The trace is rank 0's, in the format of Chrome's: https://horovod.readthedocs.io/en/stable/timeline.html
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What we call what Horovod does with a tensor, by how its own names of it begin.
PHASES = {
    "NEGOTIATE_ALLREDUCE": "negotiate",
    "MEMCPY_IN_FUSION_BUFFER": "copy together",
    "MPI_ALLREDUCE": "all-reduce",
    "NCCL_ALLREDUCE": "all-reduce",
    "GLOO_ALLREDUCE": "all-reduce",
    "MEMCPY_OUT_FUSION_BUFFER": "copy apart",
}


@contextmanager
def traceable(fusion: bool = True) -> Iterator[None]:
    """Horovod, where it is initialised within, can start a trace, by `hvd.start_timeline`, and tells in it who is late.

    fusion: whether it reduces gradients together.
    """
    names = {
        "HOROVOD_TIMELINE": "DYNAMIC",
        "HOROVOD_CACHE_CAPACITY": "0",  # with a cache, ranks tell each other less, and so does the trace
        "HOROVOD_FUSION_THRESHOLD": str(2**26 if fusion else 0),
    }
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def read_trace(path: Path | str) -> list[dict]:
    """What happened to each gradient, in the order of time.

    Each entry has `tensor`, the parameter's name; `phase`, one of the values of PHASES; `start` and `end`, in seconds
    from the first on; and `ranks`: by rank, when it said that its gradient is there, as far as the trace tells. What
    is no gradient, and what did not end, is left out. Raises ValueError if the file is no such trace.
    """
    text = Path(path).read_text().rstrip().rstrip(",")
    events = json.loads(text if text.endswith("]") else text + "]")  # Horovod may not have ended it
    names: dict[int, str] = {}
    begun: dict[int, list[dict]] = defaultdict(list)
    entries = []
    for event in events:
        of = event.get("pid")
        if event.get("name") == "process_name":
            names[of] = event["args"].get("name", "")
        elif event["ph"] == "B":
            begun[of].append({"name": event["name"], "start": event["ts"], "ranks": {}})
        elif event["ph"] == "X" and begun[of]:
            begun[of][-1]["ranks"][int(event["name"])] = event["ts"]
        elif event["ph"] == "E" and begun[of]:
            entry = begun[of].pop()
            tensor, phase = names[of].removeprefix("allreduce."), PHASES.get(entry.pop("name"))
            if phase and tensor != names[of] and not tensor.startswith("noname"):
                entries.append({"tensor": tensor, "phase": phase, **entry, "end": event["ts"]})
    zero = min((entry["start"] for entry in entries), default=0)
    for entry in entries:
        entry["start"], entry["end"] = (entry["start"] - zero) / 1e6, (entry["end"] - zero) / 1e6
        entry["ranks"] = {rank: (time - zero) / 1e6 for rank, time in entry["ranks"].items()}
    return sorted(entries, key=lambda entry: entry["start"])


def fused(entries: list[dict]) -> list[list[str]]:
    """The tensors of each all-reduce that Horovod made, in the order of time: those that overlap are one."""
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
