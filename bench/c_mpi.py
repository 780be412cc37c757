"""MPI's functions by their names in C, as far as `bench/c_programs.py` needs them, made of mpi4py's methods.

A request, a communicator or a type that a function fills in by its address is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from mpi4py import MPI

P2P = {"Send": "dest", "Ssend": "dest", "Isend": "dest", "Issend": "dest", "Send_init": "dest", "Ssend_init": "dest"}
P2P |= {"Recv": "source", "Irecv": "source", "Recv_init": "source"}


def memory(size: int) -> np.ndarray:
    """So many bytes, as integers."""
    return np.zeros(size // 4, np.int32)


def message(operation: str) -> Callable:
    """MPI_Send and others: buffer, count, type, rank, tag, communicator, and for a receive a status."""

    def call(buffer: Any, count: int, kind: Any, rank: int, tag: int, comm: Any, *status: Any) -> Any:
        return getattr(comm, operation)([buffer, count, kind], rank, tag)

    return call


def alike(operation: str) -> Callable:
    """MPI_Allreduce and others, which take two buffers, a count and a type, an operator, perhaps a root."""

    def call(sent: Any, taken: Any, count: int, kind: Any, op: Any, *rest: Any) -> Any:
        *root, comm = rest
        return getattr(comm, operation)([sent, count, kind], [taken, count, kind], op, *root)

    return call


def in_parts(operation: str) -> Callable:
    """MPI_Gather and others, which take two buffers, each with a count and a type, perhaps a root."""

    def call(sent: Any, n: int, kind: Any, taken: Any, m: int, other: Any, *rest: Any) -> Any:
        *root, comm = rest
        return getattr(comm, operation)([sent, n, kind], [taken, m, other], *root)

    return call


def allgatherv(operation: str) -> Callable:
    """MPI_Allgatherv and MPI_Iallgatherv."""

    def call(sent: Any, n: int, kind: Any, taken: Any, counts: Any, places: Any, other: Any, comm: Any) -> Any:
        return getattr(comm, operation)([sent, n, kind], [taken, (counts[: comm.size], places[: comm.size]), other])

    return call


def alltoallv(operation: str) -> Callable:
    """MPI_Alltoallv and MPI_Ialltoallv."""

    def call(*arguments: Any) -> Any:
        sent, counts, places, kind, taken, their_counts, their_places, other, comm = arguments
        size = comm.size
        mine, theirs = (counts[:size], places[:size]), (their_counts[:size], their_places[:size])
        return getattr(comm, operation)([sent, mine, kind], [taken, theirs, other])

    return call


def broadcast(operation: str) -> Callable:
    """MPI_Bcast and MPI_Ibcast."""

    def call(buffer: Any, count: int, kind: Any, root: int, comm: Any) -> Any:
        return getattr(comm, operation)([buffer, count, kind], root)

    return call


def both_ways(*arguments: Any) -> None:
    """MPI_Sendrecv."""
    sent, n, kind, dest, tag, taken, m, other, source, their_tag, comm, _ = arguments
    comm.Sendrecv([sent, n, kind], dest, tag, [taken, m, other], source, their_tag)


def waited(request: Any, *_: Any) -> Any:
    """MPI_Wait: what becomes of the request."""
    if request is None or request == MPI.REQUEST_NULL:
        return MPI.REQUEST_NULL
    request.Wait()
    return request


def freed(thing: Any) -> Any:
    """MPI_Comm_free and others: what becomes of it."""
    null = {MPI.Comm: MPI.COMM_NULL, MPI.Datatype: MPI.DATATYPE_NULL, MPI.Group: MPI.GROUP_NULL}
    thing.Free()
    return next((value for kind, value in null.items() if isinstance(thing, kind)), MPI.REQUEST_NULL)


def functions() -> dict[str, Any]:
    """All of them, and MPI's constants, by their names in C."""
    found: dict[str, Any] = {f"MPI_{name}": message(name) for name in P2P}
    for name in ("Allreduce", "Scan", "Exscan", "Reduce"):
        found |= {f"MPI_{each}": alike(each) for each in (name, f"I{name.lower()}")}
    for name in ("Gather", "Scatter", "Allgather", "Alltoall"):
        found |= {f"MPI_{each}": in_parts(each) for each in (name, f"I{name.lower()}")}
    found |= {f"MPI_{each}": allgatherv(each) for each in ("Allgatherv", "Iallgatherv")}
    found |= {f"MPI_{each}": alltoallv(each) for each in ("Alltoallv", "Ialltoallv")}
    found |= {f"MPI_{each}": broadcast(each) for each in ("Bcast", "Ibcast")}
    found |= {"MPI_Barrier": lambda comm: comm.Barrier(), "MPI_Ibarrier": lambda comm: comm.Ibarrier()}
    found |= {"MPI_Comm_size": lambda comm: comm.size, "MPI_Comm_rank": lambda comm: comm.rank}
    found |= {"MPI_Comm_split": lambda comm, colour, key: comm.Split(colour, key)}
    found |= {"MPI_Comm_dup": lambda comm: comm.Dup(), "MPI_Comm_group": lambda comm: comm.Get_group()}
    found |= {"MPI_Comm_create": lambda comm, group: comm.Create(group), "MPI_Sendrecv": both_ways}
    found |= {"MPI_Group_excl": lambda group, count, ranks: group.Excl(ranks[:count])}
    found |= {"MPI_Type_contiguous": lambda count, kind: kind.Create_contiguous(count).Commit()}
    found |= {f"MPI_{each}_free": freed for each in ("Comm", "Type", "Group", "Request")}
    found |= {"MPI_Wait": waited, "MPI_Start": lambda request: request.Start()}
    found |= {"MPI_Probe": lambda source, tag, comm, status: comm.Probe(source, tag)}
    names = (
        "INT FLOAT DOUBLE SUM MAX MIN PROD ANY_SOURCE ANY_TAG PROC_NULL COMM_NULL DATATYPE_NULL OP_NULL REQUEST_NULL"
    )
    found |= {f"MPI_{name}": getattr(MPI, name) for name in names.split()}
    methods = {name.removeprefix("MPI_"): function for name, function in found.items()}
    return found | {"MPI": SimpleNamespace(**methods), "MPI_STATUS_IGNORE": None, "memory": memory, "np": np}
