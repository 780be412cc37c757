"""Records mpi4py's one-sided communication: what a rank puts into another's memory, and when they synchronise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course.watch.libraries.requests import Either
from course.watch.payload import EMPTY, bound, describe_buffer, flat
from course.watch.recorder import Recorder, Said, said

MOVES = flat(
    {
        "Put Rput": "payload peer target",
        "Get Rget": "out peer target",
        "Accumulate Raccumulate": "payload peer target op",
        "Get_accumulate Rget_accumulate": "payload out peer target op",
        "Fetch_and_op": "payload out peer place op",
        "Compare_and_swap": "payload compare out peer place",
    }
)
MEETINGS = flat(
    {
        "Fence Lock_all Unlock_all Post Start Complete Wait Flush_all Flush_local_all": "",
        "Lock Unlock Flush Flush_local": "peer",
    }
)
CREATED = {"Create": 4, "Allocate": 3, "Allocate_shared": 3, "Create_dynamic": 1}  # the place of the communicator


def watched_windows(recorder: Recorder, ranks: Any, requests: Any) -> type:
    """The class that takes the place of mpi4py's Win.

    ranks, requests: `course.watch.libraries.communicators.Ranks` and `course.watch.libraries.requests.WatchedRequests`.
    """
    from mpi4py import MPI

    plain = MPI.Win

    def method(operation: str, names: tuple[str, ...]) -> Callable:
        def about(args: tuple, kwargs: dict) -> Said:
            window = args[0]
            given = bound([{"peer": "rank"}.get(name, name) for name in names], args[1:], kwargs)
            group, members = place(window)
            peer = ranks.peer(members, given.get("rank", given.get("target_rank")))
            reduction = ranks.reduction(given.get("op", MPI.SUM)) if "op" in names else None
            sent = describe_buffer(given.get("payload", given.get("origin"))) if "payload" in names else EMPTY
            return said(peer, None, None, reduction, group, sent)

        return recorder.wrap("mpi4py", f"Win.{operation}", getattr(plain, operation), about, requests.later)

    def place(window: Any) -> tuple[int, list[int | None]]:
        if window.lockstep_members is None:
            group = window.Get_group()
            members = [None if rank == MPI.UNDEFINED else rank for rank in group.Translate_ranks(None, ranks.group)]
            group.Free()
            window.lockstep_members = (recorder.group(members), members)
        return window.lockstep_members

    def creator(operation: str, position: int) -> classmethod:
        function = getattr(plain, operation)

        def about(args: tuple, kwargs: dict) -> Said:
            communicator = args[position] if len(args) > position else kwargs.get("comm", MPI.COMM_SELF)
            return said(group=ranks.members(communicator)[0], payload=EMPTY)

        def make(cls: type, *args: Any, **kwargs: Any) -> Any:
            return cls(function(*args, **kwargs))

        return classmethod(recorder.wrap("mpi4py", f"Win.{operation}", make, about))

    methods = {"plain": plain, "lockstep_members": None, "__module__": __name__}
    methods |= {operation: method(operation, names) for operation, names in {**MOVES, **MEETINGS}.items()}
    methods |= {operation: creator(operation, position) for operation, position in CREATED.items()}
    return Either("Win", (plain,), methods)
