"""Records the calls of mpi4py's communicators. Their classes cannot be patched, so subclasses take their place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from course.watch.events import kind_of
from course.watch.payload import EMPTY, Payload, bound, describe, describe_buffer, flat
from course.watch.recorder import Recorder, Said, said
from course.watch.requests import Either, WatchedRequests

# Names of the arguments of mpi4py's methods, in order; "payload" is what this rank sends, "out" where it receives.
# Methods with a capital take buffers. A status is passed where none is given, as it tells what came from whom.
MESSAGES = flat(
    {
        "Send Ssend Bsend Rsend Isend Issend Ibsend Irsend send ssend bsend isend issend ibsend": "payload dest tag",
        "Recv recv": "out source tag status",
        "Irecv irecv": "out source tag",
        "Sendrecv sendrecv": "payload dest tag out source recvtag status",
        "Isendrecv": "payload dest tag out source recvtag",
        "Sendrecv_replace": "payload dest tag source recvtag status",
        "Isendrecv_replace": "payload dest tag source recvtag",
        "Probe probe Mprobe mprobe": "source tag status",
        "Improbe improbe": "source tag status",
    }
)
COLLECTIVES = flat(
    {
        "allreduce scan exscan": "payload op",
        "reduce": "payload op root",
        "bcast gather scatter": "payload root",
        "allgather alltoall neighbor_allgather neighbor_alltoall": "payload",
        "barrier Barrier Ibarrier": "",
        "Allreduce Iallreduce Scan Iscan Exscan Iexscan": "payload out op",
        "Reduce_scatter_block Ireduce_scatter_block": "payload out op",
        "Reduce_scatter Ireduce_scatter": "payload out counts op",
        "Reduce Ireduce": "payload out op root",
        "Bcast Ibcast": "payload root",
        "Gather Igather Gatherv Igatherv Scatter Iscatter Scatterv Iscatterv": "payload out root",
        "Allgather Iallgather Allgatherv Iallgatherv Alltoall Ialltoall Alltoallv Ialltoallv": "payload out",
        "Alltoallw Ialltoallw Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall": "payload out",
        "Neighbor_alltoallv Neighbor_alltoallw Ineighbor_allgather Ineighbor_allgatherv": "payload out",
        "Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw": "payload out",
    }
)
# Each start of what these prepare is a call of its own.
PERSISTENT = flat(
    {
        "Send_init Ssend_init Bsend_init Rsend_init": "payload dest tag",
        "Psend_init": "payload parts dest tag",
        "Recv_init": "out source tag",
        "Precv_init": "out parts source tag",
        "Allreduce_init Scan_init Exscan_init Reduce_scatter_block_init": "payload out op",
        "Reduce_scatter_init": "payload out counts op",
        "Reduce_init": "payload out op root",
        "Bcast_init": "payload root",
        "Gather_init Gatherv_init Scatter_init Scatterv_init": "payload out root",
        "Allgather_init Allgatherv_init Alltoall_init Alltoallv_init Alltoallw_init": "payload out",
        "Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init": "payload out",
        "Neighbor_alltoallv_init Neighbor_alltoallw_init": "payload out",
        "Barrier_init": "",
    }
)
MAKERS = (
    "Dup Dup_with_info Clone Split Split_type Create Create_group Create_cart Create_graph Create_dist_graph "
    "Create_dist_graph_adjacent Create_intercomm Merge Sub Spawn Spawn_multiple Accept Connect"
)
CLASSES = ("Intracomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm")


class Ranks:
    """Whom the ranks of a communicator are among the ranks of a run, and what its calls say.

    run: communicator of the run.
    """

    def __init__(self, recorder: Recorder, run: Any) -> None:
        from mpi4py import MPI

        self.recorder, self.mpi, self.group = recorder, MPI, run.Get_group()
        self.constants = {id(op): name for name in dir(MPI) if isinstance(op := getattr(MPI, name), MPI.Op)}
        self.operations = [(name, getattr(MPI, name)) for name in self.constants.values()]

    def reduction(self, op: Any) -> str:
        """The name of a reduction's operation."""
        return self.constants.get(id(op)) or next((name for name, known in self.operations if known == op), "custom")

    def members(self, communicator: Any) -> tuple[int, list[int | None]]:
        """The communicator's ranks as ranks of the run, with the number by which the log knows them. Of those at the
        other end, if it has two."""
        known = getattr(communicator, "lockstep_members", None)
        if known is None:
            group = communicator.Get_remote_group() if communicator.Is_inter() else communicator.Get_group()
            ranks = group.Translate_ranks(None, self.group)
            group.Free()
            members = [None if rank == self.mpi.UNDEFINED else rank for rank in ranks]
            known = communicator.lockstep_members = (self.recorder.group(members), members)
        return known

    def peer(self, members: list[int | None], rank: Any) -> int | None:
        """A rank of a communicator, as one of the run."""
        return members[rank] if rank is not None and 0 <= rank < len(members) else None

    def arrived(self, members: list[int | None], status: Any, end: str = "peer") -> dict:
        """What the status of a message says."""
        source, tag = self.peer(members, status.Get_source()), status.Get_tag()
        return {end: source, "tag": tag if end == "peer" else None, "received": status.Get_count(self.mpi.BYTE)}

    def about(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """A function that says what a call of a method says. names: of its arguments."""
        if "dest" in names or "source" in names:
            return self.about_message(operation, names)
        return self.about_collective(operation, names)

    def about_collective(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """See `about`. Reads arguments by their places, as it is called where microseconds count."""
        payload_at, out_at, op_at, root_at = (place(names, name) for name in ("payload", "out", "op", "root"))
        missing = tuple({"op": self.mpi.SUM, "root": 0}.get(name) for name in names)
        describing, in_place = describes(operation), self.mpi.IN_PLACE
        rooted = kind_of(operation) in {"broadcast", "gather", "scatter", "reduce"}

        def about(args: tuple, kwargs: dict) -> Said:
            if kwargs:
                given = bound(names, args[1:], kwargs)
                args = (args[0], *(given.get(name, default) for name, default in zip(names, missing, strict=True)))
            else:
                args += missing[len(args) - 1 :]
            number, members = getattr(args[0], "lockstep_members", None) or self.members(args[0])
            root = self.peer(members, args[root_at] if root_at else 0) if rooted else None
            sent, out = args[payload_at] if payload_at else None, args[out_at] if out_at else None
            if sent is in_place:  # what is in the receive buffer
                sent = out
            size, dtype, values = describing(sent) if payload_at else EMPTY
            if not op_at:
                return (root, None, None, None, number, size, dtype), values, None

            def finished(result: Any) -> dict:
                return {"results": describing(out if out_at else result).values}

            reduction = self.reduction(args[op_at])
            return (root, None, None, reduction, number, size, dtype), values, finished

        return about

    def about_message(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """See `about`."""
        status_at, describing = place(names, "status"), describes(operation)
        sends, receives = "dest" in names, "source" in names and kind_of(operation) != "probe"
        at_once = operation[0] not in "Ii" and not operation.endswith("_init")

        def about(args: tuple, kwargs: dict) -> Said:
            given = bound(names, args[1:], kwargs)
            number, members = self.members(args[0])
            dest, source = self.peer(members, given.get("dest")), self.peer(members, given.get("source", -1))
            tag = given.get("tag", 0 if sends else -1)
            tag = tag if tag >= 0 else None
            status = given.get("status")
            if status_at and status is None and len(args) <= status_at:
                status = kwargs["status"] = self.mpi.Status()

            def finished(result: Any) -> dict:
                return self.arrived(members, status if at_once else result, "source" if sends else "peer")

            payload = describing(given.get("payload")) if "payload" in names else EMPTY
            peers = (dest, source) if sends else (source, None)
            return said(*peers, tag, None, number, payload, finished if receives else None)

        return about


def place(names: tuple[str, ...], name: str) -> int:
    """The place of an argument, counted from the communicator's, which is 0: there is none."""
    return names.index(name) + 1 if name in names else 0


def describes(operation: str) -> Callable[[Any], Payload]:
    """The function that describes what a method sends. Those with a capital take buffers."""
    if operation[0].islower():
        return describe
    return partial(describe_buffer, vector=operation.removesuffix("_init").endswith("v"))


class OnFirstUse:
    """A method that `make` gives when it is looked up for the first time: a run uses few of a hundred."""

    def __init__(self, make: Callable[[], Callable]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, owner: type) -> Any:
        method = self.make()
        setattr(self.owner, self.name, method)
        return getattr(owner if instance is None else instance, self.name)


class WatchedCommunicators:
    """Makes watched communicators, whose calls go through `recorder`.

    run: communicator of the run. `requests` has what is under way.
    """

    def __init__(self, recorder: Recorder, run: Any) -> None:
        from mpi4py import MPI

        self.recorder, self.mpi = recorder, MPI
        self.ranks = Ranks(recorder, run)
        self.requests = WatchedRequests(recorder, self.ranks.arrived)
        self.classes: dict[type, type] = {}  # made when they are needed

    def of(self, communicator: Any) -> Any:
        """The same communicator, watched."""
        return self.over(type(communicator))(communicator)

    def over(self, base: type) -> type:
        """The subclass of a class of communicators whose calls are recorded."""
        if base not in self.classes:
            self.classes[base] = self.subclass(base)
        return self.classes[base]

    def subclass(self, base: type) -> type:
        """See `over`."""

        def fromhandle(cls: type, handle: int) -> Any:
            return cls(base.fromhandle(handle))

        def free(communicator: Any) -> None:
            if communicator is not self.mpi.COMM_WORLD:
                base.free(communicator)

        special = {"watched_over": staticmethod(self.over), "plain": base, "__module__": __name__}
        special |= {"fromhandle": classmethod(fromhandle), "free": free}
        for table, method in ((MESSAGES, self.call), (COLLECTIVES, self.call), (PERSISTENT, self.prepared)):
            for operation, names in table.items():
                if hasattr(base, operation):
                    special[operation] = OnFirstUse(partial(method, base, operation, names))
        for operation in MAKERS.split():
            if hasattr(base, operation):
                special[operation] = OnFirstUse(partial(self.maker, base, operation))
        return Either(base.__name__, (base,), special)

    def call(self, base: type, operation: str, names: tuple[str, ...]) -> Callable:
        """A method that communicates. A request that it returns is watched, too, and so is a message to be received."""
        about, plain = self.ranks.about(operation, names), getattr(base, operation)
        if operation in ("Improbe", "improbe"):  # no event: they are called again and again
            return lambda own, *args, **kwargs: self.requests.message(plain(own, *args, **kwargs), own, self.ranks)

        goes_on = self.requests.later if operation[0] in "Ii" else None
        wrapped = self.recorder.wrap("mpi4py", operation, plain, about, goes_on)
        if operation in ("Mprobe", "mprobe"):
            return lambda own, *args, **kwargs: self.requests.message(wrapped(own, *args, **kwargs), own, self.ranks)
        return wrapped

    def prepared(self, base: type, operation: str, names: tuple[str, ...]) -> Callable:
        """A method that prepares a persistent request."""
        about, plain = self.ranks.about(operation, names), getattr(base, operation)

        def prepare(*args: Any, **kwargs: Any) -> Any:
            return self.requests.prepared(plain(*args, **kwargs), operation, lambda: about(args, kwargs))

        return prepare

    def maker(self, base: type, operation: str) -> Callable:
        """A method that makes a communicator, which is watched, too."""
        plain = getattr(base, operation)

        def about(args: tuple, kwargs: dict) -> Said:
            return said(group=self.ranks.members(args[0])[0], payload=EMPTY)

        def make(*args: Any, **kwargs: Any) -> Any:
            made = plain(*args, **kwargs)
            return self.of(made) if isinstance(made, self.mpi.Comm) and not hasattr(made, "watched_over") else made

        return self.recorder.wrap("mpi4py", operation, make, about)
