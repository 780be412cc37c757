"""Records Horovod's calls, and when its asynchronous operations complete."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from course.watch.payload import EMPTY, bound, describe, flat
from course.watch.recorder import SILENT, Recorder, Said, Told, named, said, told

LONGEST = 200  # characters of a name that are recorded
SHORT, SLEEP = 1e-3, 1e-4  # seconds that a rank polls without pausing; pause between polls from then on

# Names of the arguments of each function, in order; "payload" is what this rank sends, "peer" the root.
FUNCTIONS = flat(
    {
        "allreduce grouped_allreduce": "payload average name compression op",
        "allreduce_ allreduce_async allreduce_async_ grouped_allreduce_": "payload average name op",
        "grouped_allreduce_async grouped_allreduce_async_": "payload average name op",
        "sparse_allreduce_async": "payload name op",
        "allgather allgather_async grouped_allgather grouped_allgather_async allgather_object": "payload name",
        "alltoall alltoall_async": "payload splits name",
        "broadcast broadcast_async broadcast_ broadcast_async_ broadcast_object": "payload peer name",
        "reducescatter grouped_reducescatter": "payload name compression op",
        "reducescatter_async grouped_reducescatter_async": "payload name op",
        "barrier": "process_set",
        "join": "device",
    }
)


def watch_horovod(recorder: Recorder, ranks: int) -> dict[Callable, Callable]:
    """Horovod's functions, each with the one to put in its place. ranks: how many the run has.

    An asynchronous operation counts as complete when `synchronize` returns for its handle.
    """
    import horovod.torch as hvd

    handles: dict[Any, tuple[int, Said]] = {}

    def later(result: Any, number: int, what: Said) -> Any:
        if isinstance(result, int) and not isinstance(result, bool):
            handles[result] = number, what
            return result
        return None

    watched = {}
    for operation, names in FUNCTIONS.items():
        if function := getattr(hvd, operation, None):
            about = about_horovod(recorder, operation, names, ranks)
            watched[function] = recorder.wrap(
                "horovod", operation, function, about, later if "async" in operation else None
            )
    synchronize = hvd.synchronize

    def watched_synchronize(handle: Any) -> Any:
        number, what = handles.pop(handle, (-1, SILENT))
        recorder.waits(number)
        with suppress(ValueError):  # a handle that was waited for before
            wait_asleep(lambda: hvd.poll(handle))
        result = synchronize(handle)
        if number >= 0:
            recorder.end(number, told(what, result))
        return result

    wait = functools.update_wrapper(watched_synchronize, synchronize)
    return watched | {synchronize: named(wait, "hvd.synchronize")}


def about_horovod(
    recorder: Recorder, operation: str, names: tuple[str, ...], ranks: int
) -> Callable[[tuple, dict], Said]:
    """A function that says what a call says, see `Recorder.wrap`. The default reduction is the average."""
    import horovod.torch as hvd

    from_root = operation.startswith("broadcast")
    reductions = {hvd.Average: "AVERAGE", hvd.Sum: "SUM", hvd.Adasum: "ADASUM", hvd.Min: "MIN", hvd.Max: "MAX"}
    reduces = "op" in names

    def finished(result: Any) -> Told:
        return describe(result).values

    def about(args: tuple, kwargs: dict) -> Said:
        given = bound(names, args, kwargs)
        op = given.get("op")
        if op is None:
            op = hvd.Sum if given.get("average") is False else hvd.Average
        size, chosen = hvd.size(), getattr(given.get("process_set"), "ranks", None)
        members = chosen or (range(size) if size == ranks else [None] * size)
        reduction = reductions.get(op, "custom") if reduces else None
        payload = describe(given.get("payload")) if "payload" in names else EMPTY
        group, room = recorder.group(members), None
        if from_root:
            payload, room = payload if given.get("peer") == hvd.rank() else EMPTY, payload.bytes
        name, finish = given.get("name"), finished if reduces else None
        if name is None and "_object" in operation:  # Horovod's own choice
            name = type(given.get("payload")).__name__
        name = None if name is None else str(name)[:LONGEST]
        return said(given.get("peer"), None, None, reduction, group, payload, finish, room=room, name=name)

    return about


def wait_asleep(done: Callable[[], bool]) -> None:
    """Poll with pauses. Horovod polls without, so that each waiting rank would keep a core busy."""
    began = time.perf_counter()
    while not done():
        time.sleep(0 if time.perf_counter() - began < SHORT else SLEEP)
