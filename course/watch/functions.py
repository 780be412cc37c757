"""Records the calls of torch.distributed and Horovod, and when their asynchronous ones complete."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from course.watch.events import Recorder, named
from course.watch.payload import bound, describe, flat

SHORT, SLEEP = 1e-3, 1e-4  # seconds that a rank polls without pausing; pause between polls from then on

# Names of the arguments of each function, in order; "payload" is what this rank sends, "peer" another rank.
TORCH = {
    ("all_reduce",): ("payload", "op", "group"),
    ("reduce",): ("payload", "peer", "op", "group"),
    ("broadcast", "send", "recv", "isend", "irecv"): ("payload", "peer", "group"),
    ("broadcast_object_list",): ("payload", "peer", "group"),
    ("gather", "scatter", "gather_object"): ("payload", "out", "peer", "group"),
    ("scatter_object_list",): ("out", "payload", "peer", "group"),
    ("all_gather", "all_gather_into_tensor", "all_gather_object"): ("out", "payload", "group"),
    ("reduce_scatter", "reduce_scatter_tensor"): ("out", "payload", "op", "group"),
    ("all_to_all", "all_to_all_single"): ("out", "payload"),
    ("barrier",): ("group",),
}
HOROVOD = {
    ("allreduce", "allreduce_async"): ("payload", "average", "name", "compression", "op"),
    ("allreduce_", "allreduce_async_"): ("payload", "average", "name", "op"),
    ("grouped_allreduce", "grouped_allreduce_async", "grouped_allreduce_"): (
        "payload",
        "average",
        "name",
        "compression",
        "op",
    ),
    ("grouped_allreduce_async_",): ("payload", "average", "name", "op"),
    ("allgather", "allgather_async", "allgather_object", "alltoall", "alltoall_async"): ("payload",),
    ("broadcast", "broadcast_async", "broadcast_", "broadcast_async_", "broadcast_object"): ("payload", "peer"),
    ("reducescatter", "reducescatter_async"): ("payload", "name", "compression", "op"),
    ("barrier",): (),
}


def about_torch(names: tuple[str, ...]) -> Callable[[tuple, dict], dict]:
    """A function that describes a call of torch.distributed, see `Recorder.wrap`. names: of its arguments."""
    import torch.distributed as dist

    def about(args: tuple, kwargs: dict) -> dict:
        given = bound(names, args, kwargs)
        op = given.get("op", dist.ReduceOp.SUM)
        return {
            "peer": given.get("peer"),
            "reduction": str(op).rpartition(".")[2] if "op" in names else None,
            "ranks": dist.get_world_size(given.get("group")) if dist.is_initialized() else None,
            **describe(given.get("payload")),
        }

    return about


def about_horovod(names: tuple[str, ...]) -> Callable[[tuple, dict], dict]:
    """The same for Horovod, whose default reduction is the average."""
    import horovod.torch as hvd

    reductions = {hvd.Average: "AVERAGE", hvd.Sum: "SUM", hvd.Adasum: "ADASUM", hvd.Min: "MIN", hvd.Max: "MAX"}

    def about(args: tuple, kwargs: dict) -> dict:
        given = bound(names, args, kwargs)
        op = given.get("op")
        if op is None:
            op = hvd.Sum if given.get("average") is False else hvd.Average
        return {
            "peer": given.get("peer"),
            "reduction": reductions.get(op, "custom") if "op" in names else None,
            "ranks": hvd.size() if hvd.is_initialized() else None,
            **describe(given.get("payload")),
        }

    return about


class WatchedWork:
    """A handle of torch.distributed that records when it is waited for, and otherwise behaves as the original."""

    def __init__(self, work: Any, number: int, recorder: Recorder) -> None:
        self._work = work

        def wait(*args: Any, **kwargs: Any) -> Any:
            recorder.waits(number)
            result = work.wait(*args, **kwargs)
            recorder.end(number)
            return result

        self.wait = named(wait, "dist.Work.wait")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def watch_torch(recorder: Recorder) -> dict[Callable, Callable]:
    """torch.distributed's functions, each with the one to put in its place, which also records waits for its handle."""
    import torch.distributed as dist

    def later(result: Any, number: int) -> Any:
        return None if not hasattr(result, "wait") else WatchedWork(result, number, recorder)

    watched = {}
    for operation, names in flat(TORCH).items():
        function = getattr(dist, operation)
        watched[function] = recorder.wrap("torch", operation, function, about_torch(names), later)
    return watched


def watch_horovod(recorder: Recorder) -> dict[Callable, Callable]:
    """Horovod's functions, each with the one to put in its place.

    An asynchronous operation counts as complete when `synchronize` returns for its handle.
    """
    import horovod.torch as hvd

    handles: dict[Any, int] = {}

    def later(result: Any, number: int) -> Any:
        if isinstance(result, int) and not isinstance(result, bool):
            handles[result] = number
            return result
        return None

    watched = {}
    for operation, names in flat(HOROVOD).items():
        if function := getattr(hvd, operation, None):
            watched[function] = recorder.wrap("horovod", operation, function, about_horovod(names), later)

    synchronize = hvd.synchronize

    def watched_synchronize(handle: Any) -> Any:
        number = handles.pop(handle, -1)
        recorder.waits(number)
        with suppress(ValueError):  # a handle that was waited for before
            wait_asleep(lambda: hvd.poll(handle))
        result = synchronize(handle)
        recorder.end(number)
        return result

    return watched | {synchronize: named(watched_synchronize, "hvd.synchronize")}


def wait_asleep(done: Callable[[], bool]) -> None:
    """Poll with pauses. Horovod polls without, so that each waiting rank would keep a core busy."""
    began = time.perf_counter()
    while not done():
        time.sleep(0 if time.perf_counter() - began < SHORT else SLEEP)
