"""Records the calls of mpi4py's communicators. Their classes cannot be patched, so a subclass takes their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course.watch.events import Recorder, kind_of, named
from course.watch.payload import bound, describe, describe_buffer, flat

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


def watched_communicators(recorder: Recorder) -> Any:
    """A subclass of mpi4py's Intracomm whose calls go through `recorder`.

    Its `settle` records the end of requests that are complete; `unfinished` lists the others. `reducers` is for pickle,
    see copyreg.
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
        # mpi4py sets a completed request to null, also in Waitall and the like, which bypass WatchedRequest.
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
        buffers, vector = operation[0].isupper(), operation.endswith("v")
        root = 0 if kind_of(operation) in {"broadcast", "gather", "scatter", "reduce"} else None

        def about(args: tuple, kwargs: dict) -> dict:
            given = bound(names, args[1:], kwargs)
            payload = given.get("payload")
            if payload is MPI.IN_PLACE:  # what is in the receive buffer
                payload = given.get("out")
            return {
                "peer": given.get("peer", root),
                "reduction": reduction(given.get("op", MPI.SUM)) if "op" in names else None,
                "ranks": args[0].size,
                **(describe_buffer(payload, vector) if buffers else describe(payload)),
            }

        return recorder.wrap("mpi4py", operation, plain, about, later)

    world = MPI.COMM_WORLD

    class Intracomm(MPI.Intracomm):
        """Otherwise as the original: what of it is freed, and what pickle makes of it."""

        unfinished = requests

        @classmethod
        def fromhandle(cls, handle: int) -> Intracomm:
            return cls(MPI.Intracomm.fromhandle(handle))

        def free(self) -> None:
            if self is not MPI.COMM_WORLD:
                super().free()

    def reduced(communicator: Any) -> tuple:
        """For pickle, which finds a constant by its name, but finds the watched one there."""
        if communicator is world or communicator is MPI.COMM_WORLD:
            return comm_world, ()
        if communicator == world:
            return MPI.Intracomm, (world,)
        return MPI.Intracomm.__reduce__(communicator)

    Intracomm.settle = staticmethod(settle)
    Intracomm.reducers = dict.fromkeys((MPI.Intracomm, Intracomm), reduced)
    for name, method_names in {**flat(OBJECT), **flat(BUFFER)}.items():
        setattr(Intracomm, name, method(name, method_names))
    return Intracomm


def comm_world() -> Any:
    """The communicator that mpi4py has under this name now, watched or not."""
    from mpi4py import MPI

    return MPI.COMM_WORLD
