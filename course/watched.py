"""Where the watch takes hold: mpi4py's communicators, and the functions of torch.distributed and Horovod.

mpi4py's classes cannot be patched, so communicators are replaced by a subclass, and ``MPI.COMM_WORLD`` by an instance
of it. The functions of the other two are replaced in each module that holds them, and put back when the run ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from course.payload import describe
from course.watch import Recorder, kind_of, named

SHORT, SLEEP = 1e-3, 1e-4  # seconds that a rank asks without a pause whether it may go on; pauses from then on

# Names of the arguments of mpi4py's methods, in order; "payload" is what this rank sends, "peer" another rank.
OBJECT = {
    ("allreduce", "scan", "exscan"): ("payload", "op"),
    ("reduce",): ("payload", "op", "peer"),
    ("bcast", "gather", "scatter", "send", "ssend", "isend", "issend"): ("payload", "peer"),
    ("allgather", "alltoall"): ("payload",),
    ("recv", "irecv"): ("buf", "peer"),
    ("sendrecv",): ("payload", "peer"),
    ("barrier", "Barrier", "Ibarrier"): (),
}
BUFFER = {
    ("Allreduce", "Iallreduce", "Scan", "Exscan", "Reduce_scatter_block", "Ireduce_scatter_block"): (
        "payload",
        "out",
        "op",
    ),
    ("Reduce_scatter", "Ireduce_scatter"): ("payload", "out", "counts", "op"),
    ("Reduce", "Ireduce"): ("payload", "out", "op", "peer"),
    ("Bcast", "Ibcast", "Send", "Ssend", "Isend", "Issend"): ("payload", "peer"),
    ("Gather", "Igather", "Gatherv", "Igatherv", "Scatter", "Iscatter", "Scatterv", "Iscatterv"): (
        "payload",
        "out",
        "peer",
    ),
    ("Allgather", "Iallgather", "Allgatherv", "Iallgatherv", "Alltoall", "Ialltoall", "Alltoallv"): ("payload", "out"),
    ("Recv", "Irecv"): ("out", "peer"),
    ("Sendrecv",): ("payload", "peer"),
}
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
ALIASES = {
    **dict.fromkeys(
        ("sendobj", "sendbuf", "obj", "tensor", "tensors", "input", "input_list", "object_list"), "payload"
    ),
    **dict.fromkeys(("root", "dest", "source", "dst", "src", "root_rank"), "peer"),
    **dict.fromkeys(("recvbuf", "output", "output_tensor"), "out"),
}


def flat(table: dict) -> dict[str, tuple[str, ...]]:
    """One entry per operation."""
    return {operation: names for operations, names in table.items() for operation in operations}


def bound(names: tuple[str, ...], args: tuple, kwargs: dict) -> dict:
    """Arguments by our names, whether they were given by position or by the library's name."""
    return {
        **dict(zip(names, args, strict=False)),
        **{ALIASES.get(name, name): value for name, value in kwargs.items()},
    }


def watched_communicators(recorder: Recorder) -> Any:
    """A subclass of mpi4py's Intracomm whose calls go through `recorder`.

    Its `settle` notes the end of requests that are complete, and `unfinished` lists the others.
    """
    from mpi4py import MPI

    operations = [(name, op) for name in dir(MPI) if isinstance(op := getattr(MPI, name), MPI.Op)]
    requests: list[Any] = []

    def reduction(op: Any) -> str:
        return next((name for name, known in operations if known == op), "custom")

    class WatchedRequest(MPI.Request):
        number = -1

    def completion(operation: str) -> Callable:
        complete = getattr(MPI.Request, operation)

        def wait(request: Any, *args: Any) -> Any:
            recorder.waits(request.number)
            result = complete(request, *args)
            if request == MPI.REQUEST_NULL:
                settle(request)
            else:
                recorder.returned(request.number)
            return result

        return named(wait, f"comm.Request.{operation}")

    for operation in ("wait", "Wait", "test", "Test"):
        setattr(WatchedRequest, operation, completion(operation))

    def settle(only: Any = None) -> None:
        # mpi4py makes a request null when it is complete, also by Waitall and its like, which bypass WatchedRequest.
        for request in [request for request in requests if only is None or request is only]:
            if request == MPI.REQUEST_NULL:
                recorder.end(request.number)
                requests[:] = [other for other in requests if other is not request]

    def later(result: Any, number: int) -> Any:
        if not isinstance(result, MPI.Request):
            return None
        request = WatchedRequest(result)
        request.number = number
        requests.append(request)
        return request

    def method(operation: str, names: tuple[str, ...]) -> Callable:
        plain = getattr(MPI.Intracomm, operation)
        root = 0 if kind_of(operation) in {"broadcast", "gather", "scatter", "reduce"} else None

        def about(args: tuple, kwargs: dict) -> dict:
            given = bound(names, args[1:], kwargs)
            payload = given.get("payload")
            if payload is MPI.IN_PLACE:
                payload = given.get("out")
            return {
                "peer": given.get("peer", root),
                "reduction": reduction(given.get("op", MPI.SUM)) if "op" in names else None,
                "ranks": args[0].size,
                **describe(payload if "payload" in names else None),
            }

        return recorder.wrap("mpi4py", operation, plain, about, later)

    methods = {name: method(name, names) for name, names in {**flat(OBJECT), **flat(BUFFER)}.items()}
    return type("Intracomm", (MPI.Intracomm,), {**methods, "settle": staticmethod(settle), "unfinished": requests})


def about_torch(names: tuple[str, ...]) -> Callable[[tuple, dict], dict]:
    """Describes a call of torch.distributed."""
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
    """Describes a call of Horovod, whose default reduction is the average."""
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
    """A handle of torch.distributed that notes when it is waited for; in all else the handle itself."""

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


@contextmanager
def patched(recorder: Recorder, communicators: Any) -> Iterator[None]:
    """Put the watch in place of the libraries' functions, and take it away again at the end."""
    from mpi4py import MPI

    undo: list[tuple[Any, str, Any]] = []

    def replace(package: str, watched: Mapping[Callable, Callable]) -> None:
        by_identity = {id(function): new for function, new in watched.items()}
        inside = f"{package}."
        for name, module in list(sys.modules.items()):
            if name == package or name.startswith(inside):
                for attribute, value in list(vars(module).items()):
                    if id(value) in by_identity:
                        undo.append((module, attribute, value))
                        setattr(module, attribute, by_identity[id(value)])

    undo.append((MPI, "COMM_WORLD", MPI.COMM_WORLD))
    MPI.COMM_WORLD = communicators(MPI.COMM_WORLD)
    try:
        if "torch.distributed" in sys.modules:
            replace("torch.distributed", watch_torch(recorder))
        if "horovod.torch" in sys.modules:
            replace("horovod", watch_horovod(recorder))
        yield
    finally:
        for module, attribute, value in reversed(undo):
            setattr(module, attribute, value)


def watch_torch(recorder: Recorder) -> dict[Callable, Callable]:
    """torch.distributed's functions, and what watches each and the handle that it returns."""
    import torch.distributed as dist

    def later(result: Any, number: int) -> Any:
        return None if not hasattr(result, "wait") else WatchedWork(result, number, recorder)

    watched = {}
    for operation, names in flat(TORCH).items():
        function = getattr(dist, operation)
        watched[function] = recorder.wrap("torch", operation, function, about_torch(names), later)
    return watched


def watch_horovod(recorder: Recorder) -> dict[Callable, Callable]:
    """Horovod's functions, and what watches each. An asynchronous one is complete when `synchronize` was called with
    its handle."""
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
        with suppress(ValueError):  # one that was waited for already
            wait_asleep(lambda: hvd.poll(handle))
        result = synchronize(handle)
        recorder.end(number)
        return result

    return watched | {synchronize: named(watched_synchronize, "hvd.synchronize")}


def wait_asleep(done: Callable[[], bool]) -> None:
    """Wait as Horovod does not: it asks again and again until it is done, and ranks that wait take a core each."""
    began = time.perf_counter()
    while not done():
        time.sleep(0 if time.perf_counter() - began < SHORT else SLEEP)
